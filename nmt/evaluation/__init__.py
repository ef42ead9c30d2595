"""From translations to figures."""
