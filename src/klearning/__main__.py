"""`python -m klearning` is `klearning`."""

from klearning.cli import main

if __name__ == "__main__":
    main()
