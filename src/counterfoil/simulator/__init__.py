"""
A Stripe Checkout to try things on: one clock that moves, signed events, faults on demand.

It stands alone: nothing here knows the rest of Counterfoil.
"""

from counterfoil.simulator.app import create_app
from counterfoil.simulator.faults import Fault
from counterfoil.simulator.keeping import StateUnreadable
from counterfoil.simulator.running import Running, run_in_thread

__all__ = ["Fault", "Running", "StateUnreadable", "create_app", "run_in_thread"]
