"""A fork server of its own for students' tests, where it is not forked from the trusted process.

Started as ``python -I -m grader.owntests.forkserver``, as ``grader.forkserver`` is.
"""

from __future__ import annotations

from grader.forkserver import serving
from grader.owntests import worker
from grader.session.checks import collecting

if __name__ == "__main__":
    collecting.warm_up()
    serving.main(live=worker.live)
