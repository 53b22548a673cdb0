"""`calibrant forecast`: forecasts of a real outcome, from the columns of a file."""
