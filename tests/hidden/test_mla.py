"""Hidden suite of `mla`: what is its own beside what holds for every self-attention layer.

Every size is distinct, so that no axis can stand in for another: B 2, H 3, T 5, D 8, the latents
10 and 11, C 24. T is 2 or more wherever scores matter: at T = 1 every weight is 1.
"""

import pytest
import torch
from support_layers import Latent
from support_layers_probes import outcome
from support_self_attention import SelfAttentionChecks

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_not_forbidden,
    assert_raises,
    assert_shape,
    check,
    own,
    probe,
)

B, H, T, D = 2, 3, 5, 8
Q_LATENT, KV_LATENT = 10, 11
MAIN = Latent(H, D, Q_LATENT, KV_LATENT)
WIDE = Latent(2, 10, 7, 9)


def unseen_by(draw, *downs):
    """A change of a token that none of the projections ``downs`` notices."""
    stacked = torch.cat(downs)
    _, _, basis = torch.linalg.svd(stacked, full_matrices=True)
    hidden = basis[stacked.shape[0] :]
    return draw.normal(hidden.shape[0]) @ hidden * 3


class TestMultiHeadLatentAttention(SelfAttentionChecks):
    usual = (MAIN, B, T)
    wide = (WIDE, 6, 4)
    small = [
        (MAIN, 1, T),
        (MAIN, B, 1),
        (Latent(1, 6, 4, 5), B, T),
        (Latent(6, 1, 1, 3), B, 4),
        (Latent(3, 4, 2, 1), B, T),
    ]
    sizes = (
        {"setting": Latent(3, 4, 6, 7), "batch": 2, "length": 5},
        {"setting": Latent(2, 5, 8, 3), "batch": 3, "length": 4},
    )
    square_sizes = (
        {"setting": Latent(3, 4, 6, 7), "length": 5},
        {"setting": Latent(2, 5, 8, 3), "length": 4},
    )
    wide_sizes = (
        {"setting": WIDE, "batch": 6, "length": 4},
        {"setting": Latent(3, 8, 5, 11), "batch": 5, "length": 3},
    )
    constructions = (
        {"embed_dim": 14, "num_heads": 4},
        {"embed_dim": 15, "num_heads": 6},
        {"num_heads": 1},
    )
    differences = {
        "number_of_parameters": own(
            title="The parameters hold the six matrices of the handout, as wide as it says",
            hint="Which widths does each projection go between: token, latent, heads?",
            cases=(
                "setting",
                {"main": MAIN, "narrow": Latent(4, 5, 9, 3), "wide": Latent(2, 6, 20, 17)},
            ),
        ),
        "every_weight_is_trained": own(
            points=1, title="Every weight is trained: gradients reach all six matrices"
        ),
        "axes_of_size_one": own(
            title="Axes of size 1 stay: one item, token, head, column, latent number"
        ),
        "ratio_of_two_keys": own(cases=("setting", {"3x8": MAIN, "5x11": Latent(5, 11, 7, 9)})),
        "weights_of_each_head": own(
            points=2,
            title="Head h is columns hD to (h+1)D of the queries and of the keys",
            cases=("setting", {"3x8": MAIN, "4x9": Latent(4, 9, 13, 7)}),
        ),
        "values_of_each_head": own(
            points=2,
            title="Head h hands on columns hD to (h+1)D of the values, into the same columns",
            cases=("setting", {"3x8": MAIN, "4x6": Latent(4, 6, 5, 9)}),
        ),
        "values": own(
            points=2,
            cases=(
                "setting, batch, length",
                {
                    "main": (MAIN, B, T),
                    "narrow": (Latent(4, 5, 7, 6), 3, 8),
                    "wide": (Latent(2, 9, 23, 25), 5, 3),
                    "one head": (Latent(1, 6, 4, 1), 1, 7),
                },
            ),
        ),
        "mask_meaning": own(points=2),
        "mask_ranks_where_batch_equals_heads": own(points=1),
        "no_leak_from_later_tokens": own(points=2),
        "dropout_in_training": own(points=1),
        "gradient": own(points=1),
    }

    def wrong_divisors(self, setting):
        both = setting.head_width + setting.kv_latent
        return super().wrong_divisors(setting) | {
            "with the root of q_latent_dim": setting.q_latent**0.5,
            "with the root of kv_latent_dim": setting.kv_latent**0.5,
            "with the root of head and latent widths together": both**0.5,
        }

    @check(
        "errors",
        points=2,
        title="A width that the heads do not divide raises an error in the constructor",
        hint="What is C / H for C = 14 and H = 4? When would the first line of yours notice?",
    )
    @pytest.mark.parametrize("sizes", [(14, 4), (3, 5), (20, 3)], ids=str)
    def test_width_not_divisible(self, student, draw, sizes):
        width, heads = sizes
        MAIN.build(student, MAIN.weights(draw))
        with assert_raises(ValueError, AssertionError, when="num_heads does not divide embed_dim"):
            student.MultiHeadLatentAttention(
                embed_dim=width, num_heads=heads, q_latent_dim=6, kv_latent_dim=9
            )

    @check(
        "shape",
        points=1,
        title="The output is (B, T, C) and c_kv is (B, T, kv_latent_dim), whatever the sizes",
        hint="Write the shape of each intermediate result beside its line. Which line changes "
        "them?",
    )
    @pytest.mark.parametrize(
        ("setting", "batch", "length"),
        [(MAIN, B, T), (Latent(4, 3, 6, 8), 5, 7), (Latent(5, 2, 13, 4), 3, 11)],
        ids=["main", "narrow", "wide"],
    )
    def test_shapes(self, student, draw, setting, batch, length):
        made = setting.build(student, setting.weights(draw))
        output, c_kv = made(draw.normal(batch, length, setting.width))
        latent = (batch, length, setting.kv_latent)
        if output.shape == latent and c_kv.shape == (batch, length, setting.width):
            raise CheckFailure("Output and c_kv are swapped: the output comes first.")
        assert_shape(output, [("B", batch), ("T", length), ("C", setting.width)], "output")
        assert_shape(c_kv, [("B", batch), ("T", length), ("kv_latent_dim", latent[-1])], "c_kv")

    @check(
        "cache",
        points=3,
        title="c_kv is exactly what W_DKV makes of x: no norm, no activation, no heads",
        hint="Which line makes the latent of keys and values, and what happens to it before "
        "return?",
        shows="the worked example",
    )
    @pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
    def test_latent_that_is_returned(self, student, draw, training):
        weights = MAIN.weights(draw)
        x = draw.normal(B, T, MAIN.width)
        made = MAIN.build(student, weights, dropout=0.5).train(training)
        _, c_kv = made(x, mask=draw.mask(T, T))
        assert_shape(c_kv, [("B", B), ("T", T), ("kv_latent_dim", KV_LATENT)], "c_kv")
        latent = x @ weights["W_DKV"].T
        c_kv = c_kv.to(latent.dtype)  # what dtype comes back is looked at elsewhere
        if torch.allclose(c_kv, latent.relu(), atol=1e-5):
            raise CheckFailure("Your c_kv went through an activation: its negative numbers are 0.")
        rms = latent / latent.square().mean(-1, keepdim=True).sqrt()
        layer = torch.nn.functional.layer_norm(latent, latent.shape[-1:])
        if any(torch.allclose(c_kv, normed, atol=1e-3) for normed in (rms, layer)):
            raise CheckFailure("Your c_kv is normalised; this layer has no norm on its latents.")
        assert_close(c_kv, latent, "c_kv", message="Your c_kv is not what W_DKV makes of x.")

    @check(
        "cache",
        points=2,
        title="Keys and values are made from c_kv alone, so that caching it is enough",
        hint="Which tensors does a later token need of this one, and from what are they made?",
    )
    def test_latent_is_enough(self, student, draw):
        weights = MAIN.weights(draw)
        made = MAIN.build(student, weights)
        x = draw.normal(B, T, MAIN.width)
        before = MAIN.output(made, x)
        changed = x.clone()
        changed[:, 1] += unseen_by(draw, weights["W_DKV"])
        after = MAIN.output(made, changed)
        others = [token for token in range(T) if token != 1]
        words = (
            "A token whose c_kv is the same moves the outputs of other tokens: its key or value is "
            "not made from c_kv alone."
        )
        assert_close(after[:, others], before[:, others], "output", message=words)
        changed = x.clone()
        changed[:, 1] += unseen_by(draw, weights["W_DQ"], weights["W_DKV"])
        words = "A change of x that both latents miss moves the output: something gets past them."
        assert_close(MAIN.output(made, changed), before, "output", message=words)

    @check(
        "values",
        points=1,
        title="Queries are made from their own latent alone",
        hint="Which two matrices lie between x and the queries?",
    )
    def test_queries_from_their_latent(self, student, draw):
        weights = MAIN.weights(draw)
        made = MAIN.build(student, weights)
        # Nobody sees token 1, so that only its query is left of it.
        mask = torch.ones(T, T, dtype=torch.bool)
        mask[:, 1] = False
        x = draw.normal(B, T, MAIN.width)
        changed = x.clone()
        changed[:, 1] += unseen_by(draw, weights["W_DQ"])
        assert_close(
            MAIN.output(made, changed, mask),
            MAIN.output(made, x, mask),
            "output",
            message="A change of a token that the queries' latent misses changes what it "
            "attends to.",
        )

    @check(
        "policy",
        points=1,
        title="Written without enable_gqa",
        hint="Which heads share a key here? What would that option do?",
    )
    def test_no_shared_heads(self, student, draw, forbidden_uses):
        MAIN.output(MAIN.build(student, MAIN.weights(draw)), draw.normal(B, T, MAIN.width))
        assert_not_forbidden(forbidden_uses)

    @probe({"setting": Latent(3, 2, 6, 6)}, {"setting": Latent(2, 4, 8, 8)})
    def probe_equal_widths(self, student, draw, setting):
        return outcome(setting, student, draw, draw.normal(3, 5, setting.width))
