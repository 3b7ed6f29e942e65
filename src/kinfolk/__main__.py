"""python -m kinfolk: the command line, where the program itself is not on the path."""

from kinfolk.cli import main

if __name__ == "__main__":
    main()
