"""What tests compare with: plain definitions, enumerations of all outcomes, and the data they are asked about."""
