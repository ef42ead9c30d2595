"""Students, small models that learn from what larger ones translate (Kim & Rush 2016)."""
