"""Codes that are good for so many discounted purchases a year, and never one more."""
