"""The format of Hugging Face."""
