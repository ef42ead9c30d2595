"""Document formats: each reads a document's lines of text, and writes the same document with other lines."""
