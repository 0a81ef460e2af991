"""What processes of the grader's own see of the environment, and whether they are forked."""

from __future__ import annotations

import os
import sys

OPTION = "GRADE_START"
"""Set to ``spawn``, this environment variable has Linux start processes as macOS and Windows do."""

CLEAN_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/nonexistent",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
}
"""All that the processes near student code see of the environment."""


def forks() -> bool:
    """Whether processes are forked here, and confined, or else spawned.

    macOS can fork too, but what frameworks have started by then does not survive it.
    """
    return sys.platform == "linux" and os.environ.get(OPTION, "") != "spawn"
