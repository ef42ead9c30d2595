"""Pages that need no network and no scripts: a chart is a function from numbers to SVG, a page is made of sections."""
