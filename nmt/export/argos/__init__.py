"""Packages of Argos Translate and LibreTranslate."""
