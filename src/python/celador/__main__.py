"""`python -m celador`: the command."""

from celador._command import main

main()
