"""What suites are written with: one import for authors of checks.

The pytest plugin brings the fixtures ``student``, ``reference``, ``draw``, ``forbidden_uses``.
"""

from grader.session.checks.assertions import (
    BFLOAT16,
    FLOAT32,
    STACK,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_not_forbidden,
    assert_raises,
    assert_rows_sum_to_one,
    assert_same_gradients,
    assert_shape,
    assert_started,
    assert_unchanged,
    gradients,
    normalised_axis,
    tolerance,
)
from grader.session.checks.declaring import check, demonstration, probe
from grader.session.checks.reach import gradient_reach
from grader.session.checks.sharing import SharedChecks, own
from grader.session.errors import CheckFailure, StudentError, WrongShape, measured

__all__ = [
    "BFLOAT16",
    "FLOAT32",
    "STACK",
    "CheckFailure",
    "SharedChecks",
    "StudentError",
    "WrongShape",
    "assert_close",
    "assert_dtype",
    "assert_finite",
    "assert_not_forbidden",
    "assert_raises",
    "assert_rows_sum_to_one",
    "assert_same_gradients",
    "assert_shape",
    "assert_started",
    "assert_unchanged",
    "check",
    "demonstration",
    "gradient_reach",
    "gradients",
    "measured",
    "normalised_axis",
    "own",
    "probe",
    "tolerance",
]
