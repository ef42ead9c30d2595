"""The commands themselves, once their settings are checked: a file for each."""
