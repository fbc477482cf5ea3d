"""One module a format: what its rows look like, and what they mean here."""
