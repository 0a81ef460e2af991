"""What has to be true of attention weights (..., T, S), whether they are returned or shown."""

import math

from grader.suite import CheckFailure, assert_finite, measured, normalised_axis

AXES = ("batch", "heads", "queries", "keys")


def assert_normalised_over_keys(weights, name="weights"):
    """No other axis than the last sums to 1."""
    assert_finite(weights, name)
    other = normalised_axis(weights, AXES)
    if other is not None:
        raise CheckFailure(f"Your weights sum to 1 over {other}, not over the keys.")


def assert_mask_obeyed(weights, allowed, name="weights"):
    """Keys that are ``allowed`` (as many as weights) get some weight, blocked ones nothing."""
    assert_finite(weights, name)
    if bool((weights[allowed] < 1e-12).all()) and bool((weights[~allowed] > 0).any()):
        raise CheckFailure("Your mask is inverted: the blocked keys get the weight.")
    if bool((weights[~allowed].abs() > 1e-6).any()):
        raise CheckFailure("Keys that the mask blocks still get weight.")
    if bool((weights[allowed] <= 0).any()):
        raise CheckFailure("Keys that the mask allows get no weight.")


def assert_scaled(ratios, width, heads):
    """Two keys, whose scores differ by the ``width`` of a head, have weights in the right ratio.

    ``ratios`` are the logarithms of what these are.
    """
    wanted = math.sqrt(width)
    if bool(((ratios - wanted).abs() <= 1e-3 * width).all()):
        return
    # Where two of these are one number, the later one counts.
    known = {
        float(width): "They are what they would be without any scale.",
        1.0: "They are what dividing by the width itself gives, without the root.",
        width * wanted: "They are what multiplying by the root gives.",
        width / math.sqrt(2): "They are what the root of the number of keys gives.",
    }
    if heads > 1:
        known = {
            width / math.sqrt(heads): "They are what the root of the number of heads gives.",
            width / math.sqrt(heads * width): "They are what the root of the whole width C gives.",
        } | known
    ratio = float(ratios.flatten()[0])
    words = next((text for value, text in known.items() if abs(ratio - value) < 1e-2), "")
    raise CheckFailure(
        f"Two keys whose scores differ by D get weights in the wrong ratio. {words}".strip(),
        measured("log ratio {:.4f}, expected {:.4f}", ratio, wanted),
    )
