"""The run directory: what it holds, how it is read, how old ones become new."""
