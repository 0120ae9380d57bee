"""What every room may use and that knows nothing of transformers: bad input, files, notebooks."""
