"""Wire dialects: a request to bytes, a stream to parts."""
