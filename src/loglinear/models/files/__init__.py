"""Model files: reading and writing each kind of model, its settings, and the schema that checks them."""
