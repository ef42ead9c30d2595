"""Drawings: functions from numbers to shapes, which the template `drawing.html` writes as SVG."""
