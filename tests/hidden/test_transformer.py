"""Hidden suite of `transformer`.

Every size is distinct: B 2, layers 3, H 4, D 5 (so C 20), T 6, max_length 9, V 13, ffn_dim 28.
"""

import math
from collections import Counter

import pytest
import support_transformer_probes as probes
import torch
from support_transformer import (
    BLOCK,
    BLOCK_PARTS,
    LAYERS,
    MAX_LENGTH,
    MODEL,
    MODEL_PARTS,
    B,
    C,
    F,
    T,
    V,
    assert_sees,
    attention_sees,
    attention_weights,
    blocks_of,
    causal,
    copy_parameters,
    logits,
    make_block,
    make_model,
    model_sees,
    neutralise,
    output,
    parameters,
    set_attention,
    silenced,
    standardised,
    without_blocks,
)

from grader.suite import (
    STACK,
    CheckFailure,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_not_forbidden,
    assert_raises,
    assert_unchanged,
    check,
    measured,
    probe,
)

BRANCHES = ("attention", "ffn")


# -- parts -----------------------------------------------------------------------------------------


@check(
    "parameters",
    points=2,
    title="Block and model have their parts, in the sizes that the constructor is given",
    hint="Compare the handout's table of parts with your two constructors.",
)
def test_parts(student):
    block = student.TransformerBlock(**BLOCK)
    for part in BLOCK_PARTS:
        parameters(block, part)
    for part in BRANCHES:
        if not parameters(block, part):
            raise CheckFailure(f"Your {part} has no parameters.")
    hidden = {size for p in parameters(block, "ffn").values() for size in p.shape}
    if not hidden & {F, 2 * F}:
        raise CheckFailure("No parameter of your ffn is ffn_dim wide.")
    model = student.TransformerLM(**MODEL)
    for part in MODEL_PARTS:
        parameters(model, part)
    blocks_of(model)
    _assert_size(model, "token_embedding", V * C, "vocab_size rows of embed_dim numbers")
    _assert_size(
        model, "position_embedding", MAX_LENGTH * C, "max_length rows of embed_dim numbers"
    )
    _assert_size(model, "head", V * C, "vocab_size rows of embed_dim numbers")


def _assert_size(model, part, size, words):
    found = [p.numel() for p in parameters(model, part).values() if p.dim() > 1]
    if not found:
        raise CheckFailure(f"Your {part} has no matrix that could be learned.")
    if found != [size]:
        raise CheckFailure(f"Your {part} has to hold {words}.", f"it holds {found} numbers")


@check(
    "parameters",
    points=2,
    title="No two parts share their parameters by accident",
    hint="Is a block made once and then used many times? [block] * n is n times the same block.",
)
def test_nothing_is_shared(student):
    model = student.TransformerLM(**MODEL)
    blocks_of(model)
    names = Counter(id(p) for p in parameters(model).values())
    tied = {id(p) for p in parameters(model, "token_embedding").values()}
    tied &= {id(p) for p in parameters(model, "head").values()}
    for identity, count in names.items():
        if count > 1 and not (count == 2 and identity in tied):
            shared = [n for n, p in parameters(model).items() if id(p) == identity]
            among = "blocks" if all(n.startswith("blocks.") for n in shared) else "parts"
            raise CheckFailure(f"Two {among} of your model share a parameter: they are one object.")


@check(
    "parameters",
    points=1,
    title="Everything that is learned is made in the constructor",
    hint="Is an nn.Module or an nn.Parameter created in forward? It starts anew with each call.",
)
def test_nothing_is_made_in_forward(student, draw):
    tokens, x = draw.integers(0, V, B, T), draw.normal(B, T, C)
    block, model = student.TransformerBlock(**BLOCK).eval(), student.TransformerLM(**MODEL).eval()
    for module, call, argument in ((block, output, x), (model, logits, tokens)):
        before = set(parameters(module))
        with torch.no_grad():
            first, second = call(module, argument), call(module, argument)
        if not torch.allclose(first, second, *STACK, equal_nan=True):
            raise CheckFailure("Two equal calls give different results.")
        if set(parameters(module.to(torch.float32))) != before:
            raise CheckFailure("Your forward makes new parameters.")


# -- errors, shape, dtype, device ------------------------------------------------------------------


@check(
    "errors",
    points=1,
    title="More tokens than max_length raise ValueError; exactly max_length are fine",
    hint="What would the position embedding say to a row that it does not have?",
)
def test_too_many_tokens(student, draw):
    model = make_model(student, draw)
    logits(model, draw.integers(0, V, B, MAX_LENGTH))
    for length in (MAX_LENGTH + 1, 2 * MAX_LENGTH):
        with assert_raises(ValueError, when="there are more tokens than max_length"):
            model(draw.integers(0, V, B, length))


@check(
    "errors",
    points=1,
    title="embed_dim that is no multiple of num_heads raises ValueError or AssertionError",
    hint="How wide would a head be?",
)
def test_sizes_that_do_not_divide(student):
    student.TransformerBlock(**BLOCK)
    for heads in (3, 6):
        with assert_raises(ValueError, AssertionError, when="embed_dim / num_heads leaves a rest"):
            student.TransformerBlock(**{**BLOCK, "num_heads": heads})


@check(
    "shape",
    points=2,
    title="A block gives back the shape of x; a model gives (B, T, vocab_size)",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
@pytest.mark.parametrize("length", [T, 1, MAX_LENGTH])
@pytest.mark.parametrize("batch", [B, 1])
def test_shapes(student, draw, batch, length):
    block = make_block(student, draw)
    x = draw.normal(batch, length, C)
    output(block, x)
    output(block, x, torch.ones(length, length, dtype=torch.bool))
    logits(make_model(student, draw), draw.integers(0, V, batch, length))


@check(
    "dtype",
    points=1,
    title="float32, float64 and bfloat16 in, the same out, with a mask and without",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_dtypes(student, draw, dtype):
    block, model = make_block(student, draw), make_model(student, draw)
    x, tokens, mask = draw.normal(B, T, C), draw.integers(0, V, B, T), draw.mask(T, T)
    with torch.no_grad():
        before = output(block, x, mask)
        block, model, x = block.to(dtype), model.to(dtype), x.to(dtype)
        after = output(block, x, mask)
        assert_dtype(after, dtype, "output")
        assert_dtype(output(block, x), dtype, "output")
        assert_dtype(logits(model, tokens), dtype, "logits")
    assert_finite(after, "output")
    if dtype != torch.bfloat16:
        assert_close(after, before, "output", tol=STACK)


@check(
    "device",
    points=1,
    title="Runs on whatever device its inputs are on",
    hint="Does a line name a device, or make a tensor without asking its inputs where they are?",
)
def test_no_device_of_its_own(student):
    block, model = student.TransformerBlock(**BLOCK).eval(), student.TransformerLM(**MODEL).eval()
    x = torch.empty(B, T, C, device="meta")
    results = [
        output(block.to("meta"), x),
        logits(model.to("meta"), torch.empty(B, T, dtype=torch.int64, device="meta")),
    ]
    if any(result.device.type != "meta" for result in results):
        raise CheckFailure("Your results are on another device than the inputs.")


# -- who sees whom ---------------------------------------------------------------------------------


@check(
    "row-sum",
    points=1,
    title="Tokens that are all alike get equal results: each shares out exactly 1",
    hint="If all values are the same, what is their average, however many of them are seen?",
)
def test_equal_tokens(student, draw):
    block = make_block(student, draw)
    x = draw.normal(B, 1, C).expand(B, T, C).clone()
    with torch.no_grad(), silenced(block, "ffn"):
        result = output(block, x, draw.mask(T, T))
    words = (
        "All tokens are alike here, so that every average of them is the same; what your attention "
        "gives them differs, as if their weights did not sum to 1."
    )
    assert_close(result, result[:, :1].expand(B, T, C), "output", message=words, tol=STACK)
    assert_finite(result, "output")


@check(
    "wrong-axis",
    points=2,
    title="Attention runs over the tokens of a sequence, not over the items of the batch",
    hint="Which axis does nn.MultiheadAttention take for the batch, unless it is told?",
)
def test_attention_is_not_over_the_batch(student, draw):
    block = make_block(student, draw)
    seen = attention_sees(block, draw, draw.normal(T, T, C), draw.mask(T, T))
    if bool(seen[:, :-1].any()):
        raise CheckFailure(
            "Tokens see other items of the batch: the first axis is the batch here, and "
            "nn.MultiheadAttention takes it for the tokens unless batch_first=True."
        )
    if not bool(seen[:, -1].any()):
        raise CheckFailure("What attention adds to a token depends on no token at all.")


@check(
    "mask",
    points=2,
    title="In a mask True means allowed",
    hint="What does True mean in the attn_mask of nn.MultiheadAttention? Read its documentation.",
)
@pytest.mark.parametrize("mode", ["evaluating", "training"])
def test_mask_meaning(student, draw, mode):
    block = make_block(student, draw).train(mode == "training")
    mask = draw.mask(T, T)
    seen = attention_sees(block, draw, draw.normal(B, T, C), mask)
    assert_sees(seen[:, -1], mask, "Given a mask, what attention adds to a token")


@check(
    "mask",
    points=2,
    title="A mask that is given takes the place of the causal one, for that call",
    hint="Is the causal mask used where another one is given? And is the other one kept?",
)
def test_mask_replaces_the_causal_one(student, draw):
    block = make_block(student, draw)
    x, own = draw.normal(B, T, C), torch.eye(T, dtype=torch.bool)
    with torch.no_grad():
        before = output(block, x)
    seen = attention_sees(block, draw, x, ~own)[:, -1] | own
    with torch.no_grad():
        after = output(block, x)
    # A token that sees only itself has its mask turned round, which is another check's matter.
    if not bool(seen.all()) and not torch.equal(seen, own):
        raise CheckFailure(
            "With a mask that allows all the others, a token still does not see them all: a mask "
            "that is given takes the place of the causal one.",
            f"rows see {seen.int().tolist()}",
        )
    if not torch.allclose(before, after, *STACK, equal_nan=True):
        raise CheckFailure("After a call with a mask, a call without one gives another result.")


@check(
    "causal-leak",
    points=3,
    title="Without a mask a block is causal: a token sees itself and all earlier tokens",
    hint="Write the mask of four tokens on paper: who may see whom? Now print yours.",
)
@pytest.mark.parametrize("mode", ["evaluating", "training"])
def test_block_is_causal(student, draw, mode):
    block = make_block(student, draw).train(mode == "training")
    seen = attention_sees(block, draw, draw.normal(B, T, C))
    assert_sees(seen[:, -1], causal(T), "What attention adds to a token")


@check(
    "causal-leak",
    points=3,
    title="The model is causal: logits move only with the token they follow and with earlier ones",
    hint="Change the last token of a text. Which logits may move?",
    shows="which logits move",
)
@pytest.mark.parametrize("mode", ["evaluating", "training"])
def test_model_is_causal(student, draw, mode):
    model = make_model(student, draw).train(mode == "training")
    seen = model_sees(model, draw)
    if seen is not None:
        assert_sees(seen, causal(T), "A token's logit row")


@check(
    "causal-leak",
    points=1,
    title="The beginning of a text gets the logits that it gets within the longer text",
    hint="Is anything counted from the end, kept from an earlier call, or averaged over the text?",
)
def test_prefix(student, draw):
    model = make_model(student, draw)
    tokens = draw.integers(0, V, B, MAX_LENGTH)
    words = "The logits of a text's beginning change when the text goes on."
    with torch.no_grad():
        for length in (T, MAX_LENGTH, 1, MAX_LENGTH - 1):
            part = logits(model, tokens[:, :length])
            whole = logits(model, tokens)[:, :length]
            assert_close(part, whole, "logits", message=words, tol=STACK)


@check(
    "heads",
    points=2,
    title="Attention is multi-head attention on the normed tokens, with num_heads heads",
    hint="What do query, key and value each receive? How many heads, and what scale?",
)
def test_attention(student, reference, draw):
    x = standardised(draw.normal(B, T, C)) * draw.uniform(B, T, 1, low=2.0, high=9.0)
    weights, mask = attention_weights(draw), draw.mask(T, T)
    results = []
    for module, seen in ((student, mask), (reference, mask), (reference, ~mask)):
        block = make_block(module, draw)
        neutralise(block, "norm1")
        set_attention(block, "attention", weights)
        with torch.no_grad(), silenced(block, "ffn"):
            results.append(output(block, x, seen))
    found, expected, turned_round = results
    assert_finite(found, "output")
    # What a mask means is another check's matter.
    if torch.allclose(found, turned_round, *STACK):
        return
    words = "With ffn silent, the numbers of your output are not x plus its attention."
    assert_close(found, expected, "output", message=words, tol=STACK)


# -- the block -------------------------------------------------------------------------------------


@check(
    "values",
    points=2,
    title="With attention and ffn all zero, a block gives back x, in training too",
    hint="What may stand between x and the sum? What is left of your block if both parts are 0?",
)
@pytest.mark.parametrize("mode", ["evaluating", "training"])
def test_identity(student, draw, mode):
    block = make_block(student, draw, dropout=0.5).train(mode == "training")
    x, mask = draw.normal(B, T, C) + draw.normal(B, T, 1), draw.mask(T, T)
    with torch.no_grad(), silenced(block, *BRANCHES):
        result, scaled = output(block, x, mask), output(block, 3 * x, mask)
    if torch.allclose(result, x, *STACK):
        return
    if bool((result == 0).all()):
        raise CheckFailure("With both parts zero your block gives 0: x is not added to either.")
    if torch.allclose(result, scaled, rtol=1e-2, atol=1e-2):
        raise CheckFailure(
            "With both parts zero your block gives a normed x: what is normed may only go into "
            "attention and ffn; x itself is added as it is."
        )
    if mode == "training" and bool((result == 0).any()):
        raise CheckFailure("Dropout acts on x itself; it may act on what is added to x only.")
    raise CheckFailure("With both parts zero your block does not give back x.")


@check(
    "values",
    points=2,
    title="ffn works on what attention has left: both are added, one after the other",
    hint="What does norm2 receive: what came into the block, or what attention has added to?",
)
def test_one_after_the_other(student, draw):
    block = make_block(student, draw)
    x, mask = draw.normal(B, T, C), draw.mask(T, T)
    with torch.no_grad():
        both = output(block, x, mask)
        with silenced(block, "ffn"):
            attended = output(block, x, mask)
        with silenced(block, "attention"):
            expected = output(block, attended, mask)
            transformed = output(block, x, mask)
        with silenced(block, "ffn"):
            other_order = output(block, transformed, mask)
    words = "Your block is not attention and then ffn, each added to what came before."
    if torch.allclose(both, other_order, *STACK):
        words = "In your block ffn comes first; attention has to."
    if torch.allclose(both, attended + transformed - x, *STACK):
        words = "Your ffn works on the x that came in; it has to work on what attention has left."
    assert_finite(both, "output")
    assert_close(both, expected, "output", message=words, tol=STACK)


@check(
    "values",
    points=2,
    title="Attention and ffn read a normed x: its size does not matter to what they add",
    hint="Look at what goes into attention and into ffn. Is all of it normed, once, just before?",
)
@pytest.mark.parametrize("part", BRANCHES)
def test_pre_norm(student, draw, part):
    block = make_block(student, draw)
    x, mask = draw.normal(B, T, C), draw.mask(T, T)
    # A size of its own for each token, so that query, key and value each show that they are normed.
    sizes = torch.tensor([1.0, 3.0, 0.5, 7.0, 2.0, 4.0])[:, None]
    (other,) = (name for name in BRANCHES if name != part)
    with torch.no_grad(), silenced(block, other):
        added = output(block, x, mask) - x
        added_to_scaled = output(block, x * sizes, mask) - x * sizes
    assert_finite(added, "output")
    words = f"What your {part} adds to x grows with x: {part} has to read x through its norm."
    assert_close(added_to_scaled, added, "output", message=words, tol=(1e-2, 1e-2))
    if bool((added.abs() < 1e-6).all()):
        raise CheckFailure(f"Your {part} adds nothing to x.")


@check(
    "values",
    points=1,
    title="norm1 belongs to attention and norm2 to ffn",
    hint="Which norm stands before which part?",
)
def test_each_norm_has_its_place(student, draw):
    block = make_block(student, draw)
    x, mask = draw.normal(B, T, C), draw.mask(T, T)
    for norm, part, other in (("norm1", "attention", "ffn"), ("norm2", "ffn", "attention")):
        changed = parameters(block, norm).values()
        with torch.no_grad():
            before = []
            for silent in (other, part):
                with silenced(block, silent):
                    before.append(output(block, x, mask))
            for parameter in changed:
                parameter.add_(draw.normal(*parameter.shape))
            after = []
            for silent in (other, part):
                with silenced(block, silent):
                    after.append(output(block, x, mask))
        if changed and torch.allclose(before[0], after[0], *STACK):
            raise CheckFailure(f"Your {norm} makes no difference to {part}.")
        words = f"Your {norm} makes a difference to {other}; it belongs to {part} alone."
        assert_close(after[1], before[1], "output", message=words, tol=STACK)


@check(
    "values",
    points=1,
    title="ffn works on each token by itself, and it is not linear",
    hint="What stands between the two linear layers of ffn? Two linear layers alone are one.",
)
def test_feed_forward(student, draw):
    block = make_block(student, draw)
    neutralise(block, "norm2")
    x, mask = draw.normal(B, T, C), draw.mask(T, T)
    with torch.no_grad(), silenced(block, "attention"):
        here, there = output(block, x, mask) - x, output(block, -x, mask) + x
        nowhere = output(block, torch.zeros(B, T, C), mask)
        changed = x.clone()
        changed[:, 2] = draw.normal(B, C)
        moved = (output(block, changed, mask) - changed - here).abs().amax(-1) > 1e-5
    assert_finite(here, "output")
    if bool(moved[:, [0, 1, 3, 4, 5]].any()):
        raise CheckFailure("What ffn adds to a token depends on other tokens.")
    if torch.allclose(here + there, 2 * nowhere, rtol=1e-3, atol=1e-3):
        raise CheckFailure(
            "Your ffn is linear: there is no activation between its layers, such as GELU or ReLU."
        )


# -- the model -------------------------------------------------------------------------------------


@torch.no_grad()
def _orthogonal_embeddings(model, draw):
    """Set embeddings so that a token's row plus a position's row is what norms leave as it is."""
    half = C // 2
    (tokens,) = parameters(model, "token_embedding").values()
    (positions,) = parameters(model, "position_embedding").values()
    tokens.zero_()
    positions.zero_()
    positions = positions.view(-1, C)
    tokens[:, :half] = standardised(draw.normal(V, half))
    positions[:, half:] = standardised(draw.normal(MAX_LENGTH, half))
    return tokens.detach().clone(), positions.detach().clone()


@check(
    "values",
    points=2,
    title="Between embeddings and head: the sum of both embeddings, and the last norm",
    hint="With the blocks silent, which five lines of your forward are left?",
)
def test_model_without_its_blocks(student, draw):
    model = make_model(student, draw)
    neutralise(model, "norm")
    token_rows, position_rows = _orthogonal_embeddings(model, draw)
    head = {name.rpartition(".")[2]: p.detach() for name, p in parameters(model, "head").items()}
    tokens = draw.integers(0, V, B, T)
    with torch.no_grad(), without_blocks(model):
        found = logits(model, tokens)
    assert_finite(found, "logits")
    matrix, bias = head["weight"], head.get("bias", torch.zeros(V))

    def expected(x):
        normed = x if x is None else standardised(x)
        return normed @ matrix.T + bias

    total = token_rows[tokens] + position_rows[:T]
    words = "With the blocks silent, your logits are not the head of the normed sum of embeddings."
    known = {
        "Your logits do not depend on the positions.": token_rows[tokens],
        "Your logits do not depend on the tokens.": position_rows[:T].expand(B, T, C),
        "Your token embeddings are scaled before the sum; they have to be added as they are.": (
            token_rows[tokens] * math.sqrt(C) + position_rows[:T]
        ),
    }
    for sentence, x in known.items():
        if torch.allclose(found, expected(x), *STACK):
            words = sentence
    if torch.allclose(found, expected(total).log_softmax(-1), *STACK) or torch.allclose(
        found, expected(total).softmax(-1), *STACK
    ):
        words = "Your model ends in a softmax; it has to return the logits, from before it."
    assert_close(found, expected(total), "logits", message=words, tol=STACK)
    scaled = token_rows * 3.0, position_rows * 3.0
    with torch.no_grad():
        for part, rows in zip(("token_embedding", "position_embedding"), scaled, strict=True):
            for parameter in parameters(model, part).values():
                parameter.copy_(rows.view_as(parameter))
        matrix = next(p for n, p in parameters(model, "head").items() if n.endswith("weight"))
        matrix = matrix.detach().clone()
        with without_blocks(model):
            found = logits(model, tokens)
    words = "Your logits grow with the embeddings: the last norm is missing before the head."
    assert_close(found, expected(total), "logits", message=words, tol=(1e-3, 1e-3))


@check(
    "values",
    points=2,
    title="x goes through every block once, in order",
    hint="What does each block receive, and what becomes of what it returns?",
)
def test_blocks_in_order(student, draw):
    model = make_model(student, draw)
    names = blocks_of(model)
    block = student.TransformerBlock(**BLOCK).eval()
    (token_rows,) = (p.detach().clone() for p in parameters(model, "token_embedding").values())
    (position_rows,) = parameters(model, "position_embedding").values()
    tokens = draw.integers(0, V, 1, T)
    rows = position_rows.detach().clone()

    def through(order):
        x = token_rows[tokens] + rows.view(-1, C)[:T]
        for name in order:
            inside = parameters(model, name)
            inside = {n.removeprefix(f"{name}."): p for n, p in inside.items()}
            copy_parameters(inside, parameters(block))
            x = output(block, x)
        return x

    def from_the_end(x):
        """The logits where x comes out of the last block, by way of the position embedding."""
        with without_blocks(model):
            position_rows.view(-1, C)[:T] = (x - token_rows[tokens])[0]
            result = logits(model, tokens)
            position_rows.copy_(rows)
        return result

    with torch.no_grad():
        found = logits(model, tokens)
        expected = from_the_end(through(names))
        words = "Your model is not its blocks, one after the other."
        known = {
            "Your model goes through its blocks from last to first.": names[::-1],
            "Your model uses only its first block.": names[:1],
            "Your model uses only its last block.": names[-1:],
            "Your model leaves its last block out.": names[:-1],
            "Your model leaves its first block out.": names[1:],
            "Your model uses its first block again and again.": names[:1] * LAYERS,
            "Your model uses none of its blocks.": [],
        }
        if not torch.allclose(found, expected, *STACK):
            for sentence, order in known.items():
                if torch.allclose(found, from_the_end(through(order)), *STACK):
                    words = sentence
    assert_finite(found, "logits")
    assert_close(found, expected, "logits", message=words, tol=(1e-3, 1e-3))


@check(
    "positions",
    points=2,
    title="Position t has row t of the position embedding, in every sequence",
    hint="Which row does the first token get? And the first token of the second sequence?",
)
def test_positions(student, draw):
    model = make_model(student, draw)
    (rows,) = parameters(model, "position_embedding").values()
    tokens = draw.integers(0, V, B, T)
    with torch.no_grad():
        before = logits(model, tokens)
        assert_finite(before, "logits")
        for position in range(MAX_LENGTH):
            kept = rows.detach().clone()
            rows.view(-1, C)[position] += draw.normal(C)
            moved = (logits(model, tokens) - before).abs().amax(-1) > 1e-5
            rows.copy_(kept)
            expected = (torch.arange(T) >= position).expand(B, T)
            if torch.equal(moved, expected):
                continue
            if not bool(moved.any()):
                raise CheckFailure("A row of the position embedding moves no logits at all.")
            raise CheckFailure(
                "Row t of the position embedding has to move the logits from token t on; in yours "
                "it moves others.",
                f"row {position} moves {moved.int().tolist()}",
            )


# -- dropout ---------------------------------------------------------------------------------------


@check(
    "dropout",
    points=1,
    title="In evaluation nothing is dropped",
    hint="Who tells your dropout whether the model trains? F.dropout has to be told.",
)
def test_no_dropout_in_evaluation(student, draw):
    for make, call, arguments in _calls(draw):
        with_dropout, without = make(student, draw, dropout=0.5), make(student, draw)
        copy_parameters(parameters(with_dropout), parameters(without))
        with torch.no_grad():
            with_dropout.train()
            call(with_dropout, *arguments)
            with_dropout.eval()
            results = [call(with_dropout, *arguments) for _ in range(2)]
            expected = call(without, *arguments)
        assert_finite(expected, "output")
        words = "In evaluation, two equal calls give different results: something is dropped."
        assert_close(results[1], results[0], "output", message=words)
        words = "In evaluation, a model with dropout gives other results than one without."
        assert_close(results[0], expected, "output", message=words)


def _calls(draw):
    """A block and a model: how to make them, how to call them, and with what."""
    x, mask, tokens = draw.normal(B, T, C), draw.mask(T, T), draw.integers(0, V, B, T)
    return (make_block, output, (x, mask)), (make_model, logits, (tokens,))


@check(
    "dropout",
    points=1,
    title="In training something is dropped, in a block and in a model, at the rate given",
    hint="Does the rate reach the place where it is used? Does the model hand it to its blocks?",
)
def test_dropout_in_training(student, draw):
    for make, call, arguments in _calls(draw):
        what = "block" if make is make_block else "model"
        dropping = make(student, draw, dropout=0.5).train()
        still = make(student, draw).train()
        with torch.no_grad():
            if torch.equal(call(dropping, *arguments), call(dropping, *arguments)):
                raise CheckFailure(f"Training a {what} with dropout, two equal calls agree.")
            first, second = call(still, *arguments), call(still, *arguments)
        assert_finite(first, "output")
        words = f"A {what} made without a dropout rate drops something in training."
        assert_close(second, first, "output", message=words)


# -- gradients -------------------------------------------------------------------------------------


@check(
    "gradient",
    points=2,
    title="Every parameter is trained",
    hint="Which parts does the loss not reach? Look for detach, no_grad and parts never used.",
)
def test_every_parameter_is_trained(student, draw):
    model = make_model(student, draw)
    blocks_of(model)
    # Every token of the vocabulary and every position occurs.
    tokens = torch.cat([draw.permutation(V), draw.integers(0, V, B * MAX_LENGTH - V)])
    result = logits(model, tokens.view(B, MAX_LENGTH))
    if not result.requires_grad:
        raise CheckFailure("No gradient can flow back from your logits: they are cut off.")
    (result * draw.normal(*result.shape)).sum().backward()
    for name, parameter in parameters(model).items():
        gradient = parameter.grad
        pieces = name.split(".")
        known = next((p for p in (*MODEL_PARTS, *BLOCK_PARTS) if p in pieces), "")
        part = next((p for p in BLOCK_PARTS if p in pieces), known)
        what = f"A parameter of {part}" if part else "A parameter"
        # The bias of the keys moves all scores of a query alike, which softmax does not notice.
        if parameter.dim() == 1 and part == "attention":
            continue
        if gradient is None or not bool((gradient != 0).any()):
            raise CheckFailure(f"{what} gets no gradient: it is not used, cut off or frozen.")
        assert_finite(gradient, "gradients")
        thirds = gradient.chunk(3) if part == "attention" and len(gradient) == 3 * C else ()
        if any(not bool((third.abs() > 1e-9).any()) for third in thirds):
            raise CheckFailure("The projections of queries or keys get no gradient.")
        if part in ("token_embedding", "position_embedding") and parameter.dim() > 1:
            rows = gradient.view(-1, C).abs().amax(-1)
            if not bool((rows > 0).all()):
                raise CheckFailure(f"Some rows of {part} get no gradient.")


@check(
    "gradient",
    points=1,
    title="Gradients flow back through a block: along x itself and through both parts",
    hint="Is x, or what is added to it, detached or computed without grad on the way?",
)
def test_gradient_along_the_stream(student, draw):
    block = make_block(student, draw)
    x, direction, mask = draw.normal(B, T, C), draw.normal(B, T, C), draw.mask(T, T)

    def gradient():
        leaf = x.clone().requires_grad_()
        result = output(block, leaf, mask)
        if not result.requires_grad:
            raise CheckFailure("No gradient can flow back from your output to x: it is cut off.")
        (found,) = torch.autograd.grad(result, leaf, direction, allow_unused=True)
        if found is None:
            raise CheckFailure("No gradient reaches x: it is cut off.")
        return found

    with silenced(block, *BRANCHES):
        words = "With both parts silent, the gradient of x is not that of the output."
        assert_close(gradient(), direction, "gradient of x", message=words)
    for part in BRANCHES:
        (other,) = (name for name in BRANCHES if name != part)
        with silenced(block, other):
            added = gradient() - direction
            if bool((added.abs() < 1e-5).all()):
                raise CheckFailure(f"No gradient flows back to x through {part}.")
    # Attention is smooth, unlike many an activation, so that differences tell its slope.
    along, step = draw.normal(B, T, C), 1e-2
    with silenced(block, "ffn"):
        expected = float((gradient().double() * along).sum())
        with torch.no_grad():
            ahead, behind = (output(block, x + sign * step * along, mask) for sign in (1, -1))
    slope = float(((ahead - behind).double() * direction).sum() / (2 * step))
    if abs(slope - expected) > 0.05 * max(1.0, abs(slope), abs(expected)):
        raise CheckFailure("The gradient of x through attention is not the right one.")


# -- manners ---------------------------------------------------------------------------------------


@check(
    "batch",
    points=1,
    title="The items of a batch do not see each other",
    hint="Change one item. May another item's output move?",
)
def test_items_are_independent(student, draw):
    block, model = make_block(student, draw), make_model(student, draw)
    x, tokens, mask = draw.normal(3, T, C), draw.integers(0, V, 3, T), draw.mask(T, T)
    other_x, other_tokens = x.clone(), tokens.clone()
    other_x[1], other_tokens[1] = draw.normal(T, C), (tokens[1] + 1) % V
    with torch.no_grad():
        for call, before, after in (
            (lambda items: output(block, items, mask), x, other_x),
            (lambda items: logits(model, items), tokens, other_tokens),
        ):
            first, second, alone = call(before), call(after), call(before[2:])
            assert_finite(first, "output")
            words = "Changing one item of the batch moves the output of another."
            assert_close(second[[0, 2]], first[[0, 2]], "output", message=words)
            words = "An item gives another result alone than in a batch."
            assert_close(alone, first[2:], "output", message=words, tol=STACK)


@check(
    "purity",
    points=1,
    title="x, mask and tokens stay as they were",
    hint="Does a line work in place (+=, masked_fill_, logical_not_) on what came from outside?",
)
def test_inputs_untouched(student, draw):
    named = {
        "x": draw.normal(B, T, C),
        "mask": draw.mask(T, T),
        "tokens": draw.integers(0, V, B, T),
    }
    before = {name: tensor.clone() for name, tensor in named.items()}
    block, model = make_block(student, draw), make_model(student, draw)
    with torch.no_grad():
        output(block, named["x"])
        output(block, named["x"], named["mask"])
        logits(model, named["tokens"])
    assert_unchanged(before, named)


@check(
    "layout",
    points=1,
    title="x and tokens need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_inputs_that_are_not_contiguous(student, draw):
    block, model = make_block(student, draw), make_model(student, draw)
    x, tokens = draw.normal(T, B, C).transpose(0, 1), draw.integers(0, V, T, B).T
    mask = draw.mask(T, T)
    with torch.no_grad():
        expected = output(block, x.contiguous(), mask)
        assert_close(output(block, x, mask.T.contiguous().T), expected, "output", tol=STACK)
        output(block, x)
        logits(model, tokens)


@check(
    "policy",
    points=1,
    title="Written without the ready-made transformer layers of torch.nn",
    hint="The point here is to put the block together yourself.",
)
def test_written_by_hand(student, draw, forbidden_uses):
    student.TransformerBlock(**BLOCK)
    assert_not_forbidden(forbidden_uses)


# -- training --------------------------------------------------------------------------------------

# The task, the sizes and the recipe are those of the runner that students have, train.py.
VOCABULARY, HALF, STEPS, BATCH, RATE, START = 10, 5, 120, 32, 1e-2, 0.2
FLOOR = math.log(VOCABULARY)
SLACK = 0.2
"""Nats below the floor that prove a leak; above it and above 0, nats that count as learned."""


def _rule(draw):
    """Under which names and in which order a second half repeats the first: drawn, to be learned.

    It is one to one, so that every rule leaves the same floors: ln V of the random half, and 0.
    """
    return draw.permutation(VOCABULARY), draw.permutation(HALF)


def _sequences(draw, rule, count):
    """``count`` sequences, the first half random, and the second the first again by ``rule``."""
    names, order = rule
    half = draw.integers(0, VOCABULARY, count, HALF)
    return torch.cat([half, names[half[:, order]]], dim=1)


@check(
    "training",
    points=5,
    title="Trained, the model learns all that can be learned from its task, and no more",
    hint="Run train.py: which half is off, and in which direction? Below the floor is a leak.",
)
def test_trained_model(student, draw):
    model = student.TransformerLM(
        vocab_size=VOCABULARY,
        embed_dim=32,
        num_heads=4,
        num_layers=2,
        ffn_dim=64,
        max_length=2 * HALF,
    )
    blocks_of(model, 2)
    rule = _rule(draw)
    logits(model, _sequences(draw, rule, 2)[:, :-1], VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(draw.normal(*parameter.shape, std=START))
    model.train()
    batches = _sequences(draw, rule, STEPS * BATCH).view(STEPS, BATCH, 2 * HALF)
    floor = FLOOR * (HALF - 1) / (2 * HALF - 1)
    model.fit(batches, learning_rate=RATE, floor=floor)
    model.eval()
    tokens = _sequences(draw, rule, 256)
    with torch.no_grad():
        found = logits(model, tokens[:, :-1], VOCABULARY)
    assert_finite(found, "logits after training")
    losses = torch.nn.functional.cross_entropy(
        found.transpose(1, 2), tokens[:, 1:], reduction="none"
    )
    random, repeated = float(losses[:, : HALF - 1].mean()), float(losses[:, HALF - 1 :].mean())
    detail = measured(
        "random half {:.3f} (floor {:.3f}), repeated half {:.3f} (floor 0)", random, FLOOR, repeated
    )
    if random < FLOOR - SLACK:
        raise CheckFailure(
            "Your model leaks the future: it predicts random tokens better than anybody can who "
            "does not see them. Its low loss is no success; it reads off the token that it should "
            "predict.",
            detail,
        )
    if repeated > SLACK:
        raise CheckFailure(
            "Your model does not learn to repeat: after training, the loss on the repeated half is "
            "far above 0.",
            detail,
        )
    if random > FLOOR + SLACK:
        raise CheckFailure(
            "Your model learns to repeat, but is sure of things that nobody can know: its loss on "
            "the random half is far above the floor.",
            detail,
        )


# -- probes ----------------------------------------------------------------------------------------

# In the second, batch and length are equal, so that attention over the batch is no error.
SIZES = (
    {
        "batch": 2,
        "length": 5,
        "heads": 3,
        "head_width": 4,
        "hidden": 7,
        "vocabulary": 6,
        "layers": 3,
    },
    {
        "batch": 4,
        "length": 4,
        "heads": 2,
        "head_width": 5,
        "hidden": 11,
        "vocabulary": 9,
        "layers": 2,
    },
)


@probe(*SIZES)
def probe_block(student, draw, **sizes):
    return probes.numbers_of_a_block(probes.Probe(student, draw, sizes))


@probe(*SIZES)
def probe_attention(student, draw, **sizes):
    return probes.numbers_of_attention(probes.Probe(student, draw, sizes))


@probe(*SIZES)
def probe_model(student, draw, **sizes):
    return probes.numbers_of_a_model(probes.Probe(student, draw, sizes))


@probe(*SIZES)
def probe_gradients(student, draw, **sizes):
    return probes.gradients(probes.Probe(student, draw, sizes))


@probe(*SIZES)
def probe_dropout(student, draw, **sizes):
    return probes.dropout(probes.Probe(student, draw, sizes))


@probe(*SIZES)
def probe_arguments(student, draw, **sizes):
    return probes.arguments_after_a_call(probes.Probe(student, draw, sizes))


@probe(*SIZES)
def probe_lengths(student, draw, **sizes):
    return probes.lengths(probes.Probe(student, draw, sizes))


@probe(*SIZES)
def probe_holdings(student, draw, **sizes):
    return probes.holdings(probes.Probe(student, draw, sizes))


@probe(*SIZES)
def probe_dtypes(student, draw, **sizes):
    return probes.dtypes(probes.Probe(student, draw, sizes))
