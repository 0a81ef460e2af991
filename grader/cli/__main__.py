"""``python -m grader.cli`` is ``grade``."""

from grader.cli.main import main

if __name__ == "__main__":
    main()
