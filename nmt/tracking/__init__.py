"""Showing the figures of a run while it trains, by libraries that draw them."""
