"""Compiled loops over plain arrays: a few lines of arithmetic each, no validation, no policy."""
