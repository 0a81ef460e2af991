"""The grading process: ``python -I -m grader.gradingprocess ARGUMENT...``.

It imports the one way and not the other, and what it grades with only when its workers are safe
from that.
"""

import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.argv[1] == "spawned":
        from grader.gradingprocess.spawned import main
    else:
        from grader.gradingprocess.forked import main
    main(sys.argv[1:])
