"""What training minimises: negative log-likelihoods with their gradients, over the native module."""
