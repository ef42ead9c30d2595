"""What a corpus is like: numbers, as text, as JSON and as a page."""
