"""What rules look at: one module a kind of file."""
