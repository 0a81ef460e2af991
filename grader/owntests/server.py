"""A fork server of its own for students' tests, where it is not forked from the trusted process.

Started as ``python -I -m grader.owntests.server``, as ``grader.sandbox.forkserver`` is.
"""

from __future__ import annotations

from grader.owntests import worker
from grader.sandbox import forkserver
from grader.session import pytest_run

if __name__ == "__main__":
    pytest_run.warm_up()
    forkserver.main(live=worker.live)
