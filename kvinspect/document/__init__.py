"""What a file may say: reading, validating and naming the places of an inspection document."""
