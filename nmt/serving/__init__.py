"""A translation server: LibreTranslate's HTTP interface, and the lines of many clients in one batch."""
