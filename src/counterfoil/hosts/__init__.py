"""Hosts: what runs a statement, over one driver each."""
