"""What only makes the numbers and pictures of the docs, and trains the shipped network; run from the project's root."""
