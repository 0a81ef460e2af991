"""What the suites' assertions say of numbers that are none, and of those without end."""

import pytest
import torch

from grader.suite import CheckFailure, assert_close

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
class TestCloseness:
    @pytest.mark.parametrize("numbers", [[INF], [-INF], [INF, -INF, 0.0], [1.0, -INF]])
    def test_infinities_at_the_same_places_with_the_same_sign_are_equal(self, numbers, dtype):
        assert_close(torch.tensor(numbers, dtype=dtype), torch.tensor(numbers), "scores")

    @pytest.mark.parametrize(
        ("actual", "expected"),
        [(INF, -INF), (-INF, INF), (1.0, INF), (3e38, INF), (-3e38, -INF), (INF, 1.0), (-INF, 0.0)],
    )
    def test_anything_else_is_said_with_its_place(self, actual, expected, dtype):
        mine, theirs = torch.tensor([0.5, actual], dtype=dtype), torch.tensor([0.0, expected])
        with pytest.raises(CheckFailure) as failure:
            assert_close(mine, theirs, "scores", tol=(1.0, 1.0))
        assert failure.value.message == "The numbers in your scores are not the expected ones."
        assert "1 of 2 numbers differ; at (1,) expected" in failure.value.detail
        with pytest.raises(CheckFailure, match="Blocked"):
            assert_close(mine, theirs, "scores", message="Blocked is blocked.", tol=(1.0, 1.0))

    @pytest.mark.parametrize("expected", [NAN, 1.0, INF])
    def test_nan_is_never_equal_and_is_said(self, expected, dtype):
        with pytest.raises(CheckFailure, match=r"There is NaN .* in your scores"):
            assert_close(torch.tensor([NAN], dtype=dtype), torch.tensor([expected]), "scores")

    def test_nan_that_an_author_asks_for_is_equal_to_nan_alone(self, dtype):
        asked = {"what": "scores", "equal_nan": True}
        mine, theirs = torch.tensor([NAN, INF, 2.0], dtype=dtype), torch.tensor([NAN, INF, 2.0])
        assert_close(mine, theirs, **asked)
        with pytest.raises(CheckFailure, match="There is NaN"):
            assert_close(mine, torch.tensor([0.0, INF, 2.0]), **asked)
        with pytest.raises(CheckFailure, match="not the expected ones"):
            assert_close(torch.ones(3, dtype=dtype), theirs, **asked)
        with pytest.raises(CheckFailure, match=r"1 of 3 numbers differ; at \(2,\)"):
            assert_close(mine, torch.tensor([NAN, INF, 9.0]), **asked)
