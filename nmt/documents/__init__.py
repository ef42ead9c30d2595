"""Formats of documents: blocks of text out, and the same document with other blocks."""
