"""The reference shop."""
