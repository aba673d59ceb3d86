"""What attention backends and model runners answer: catalogue entries, conditions, sizes, and the choice among them."""
