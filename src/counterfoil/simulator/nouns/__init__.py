"""What the API answers: one file per noun, each with its routes."""
