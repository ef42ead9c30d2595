"""The report on a corpus: numbers, as text, as JSON and as a page."""
