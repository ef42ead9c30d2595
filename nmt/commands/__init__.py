"""What each command does, once its settings are checked: a file for each."""
