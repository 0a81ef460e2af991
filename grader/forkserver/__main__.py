"""The fork server, started in an interpreter of its own: ``python -I -m grader.forkserver``."""

from grader.forkserver.serving import main

if __name__ == "__main__":
    main()
