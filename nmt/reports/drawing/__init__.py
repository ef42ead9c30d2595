"""Drawings: functions from numbers to shapes, which the template of drawings makes SVG of."""
