"""Buyers, service processes, Stripe's stand-in and a real PostgreSQL, run through random faults that a seed repeats."""
