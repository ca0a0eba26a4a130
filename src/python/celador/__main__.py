"""`python -m celador`: the command."""

from celador._command import main

# a tool that only imports the modules of the package runs nothing
if __name__ == "__main__":
    main()
