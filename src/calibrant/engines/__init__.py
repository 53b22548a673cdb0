"""The same sums computed where the data lives: Polars, DuckDB, Dask, Spark, or any data frame."""
