"""Train, translate with and evaluate small and middle-sized machine-translation models."""

from importlib.metadata import version

__version__ = version("nmt")
