"""The attention mask of a request as a picture."""
