"""The grading process: ``python -I -m grader.gradingprocess forked|spawned ARGUMENT...``.

It imports the one way and not the other, and what it grades with only when its workers are safe
from that.
"""

import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    how, *arguments = sys.argv[1:]
    if how == "forked":
        from grader.gradingprocess.forked import main
    else:
        from grader.gradingprocess.spawned import main
    main(arguments)
