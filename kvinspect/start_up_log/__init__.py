"""What a start-up log says of the KV cache: its lines and errors, and how they compare with a plan."""
