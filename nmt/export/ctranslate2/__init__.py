"""The format of CTranslate2."""
