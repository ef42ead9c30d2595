"""A server of translations: LibreTranslate's HTTP interface, and lines of many clients in one search."""
