"""`python -m counterfoil` is the same as `counterfoil`."""

from counterfoil.cli import main

main()
