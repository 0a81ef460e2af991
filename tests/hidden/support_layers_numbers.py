"""Checks of shapes, values, gradients, dtypes and manners."""

import pytest
import torch
from support_layers import LayerChecks, mask_of_rank, undone_by_mask

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_shape,
    assert_unchanged,
    check,
    tolerance,
)


class NumberChecks(LayerChecks):
    """Checks of shapes, values, gradients, dtypes and manners."""

    @check(
        "shape",
        points=1,
        title="The output is (B, T, C), whatever the sizes",
        hint="Write the shape of each intermediate result beside its line. Which line changes "
        "them?",
    )
    def test_shapes(self, student, draw, setting, batch, length):
        made = setting.build(student, setting.weights(draw))
        output = made(draw.normal(batch, length, setting.width))
        assert_shape(output, [("B", batch), ("T", length), ("C", setting.width)], "output")

    @check(
        "shape",
        points=1,
        title="Axes of size 1 stay: one item, one token, one head, one column a head",
        hint="Does something drop axes of size 1, such as squeeze()?",
    )
    def test_axes_of_size_one(self, student, draw):
        for setting, batch, length in self.small:
            made = setting.build(student, setting.weights(draw))
            x = draw.normal(batch, length, setting.width)
            assert_finite(setting.output(made, x), "output")
            setting.output(made, x, torch.ones(length, length, dtype=torch.bool))

    @check(
        "values",
        points=3,
        title="The output is right, with weights that were loaded",
        hint="Follow the handout's worked example line by line with your own intermediate results.",
    )
    def test_values(self, student, reference, draw, setting, batch, length):
        x = draw.normal(batch, length, setting.width)
        weights = setting.weights(draw)
        output = setting.output(setting.build(student, weights), x)
        assert_close(output, setting.output(setting.build(reference, weights), x), "output")

    @check(
        "values",
        points=2,
        title="The merged heads go through W_o, once and the right way round",
        hint="What does nn.Linear compute from its weight, and does every output pass through W_o?",
    )
    def test_output_projection(self, student, draw):
        setting, batch, length = self.usual
        weights = setting.weights(draw)
        x = draw.normal(batch, length, setting.width)
        merged = setting.output(
            setting.build(student, {**weights, "W_o": torch.eye(setting.width)}), x
        )
        output = setting.output(setting.build(student, weights), x)
        projection = weights["W_o"]
        # What dtype comes back is looked at elsewhere.
        merged, output = merged.to(x.dtype), output.to(x.dtype)
        if torch.allclose(output, merged, rtol=1e-4, atol=1e-4):
            raise CheckFailure("W_o changes nothing: the output projection is not applied.")
        if torch.allclose(output, merged @ projection, rtol=1e-4, atol=1e-4):
            raise CheckFailure("Your output projection is transposed.")
        if torch.allclose(output, merged @ projection.T @ projection.T, rtol=1e-4, atol=1e-4):
            raise CheckFailure("The output projection is applied twice.")
        assert_close(
            output,
            merged @ projection.T,
            "output",
            message="Your output is not what W_o makes of the merged heads.",
            tol=(1e-4, 1e-4),
        )

    @check(
        "numerics",
        points=1,
        title="Large scores give finite and right results",
        hint="exp(100) is more than float32 holds. What may be subtracted from a row before exp?",
    )
    def test_large_scores(self, student, draw):
        setting, batch, length = self.usual
        weights = setting.showing(setting.weights(draw), length)
        made = setting.build(student, weights)
        for size in (5.0, 20.0):
            x = setting.tokens(draw, batch, length)
            x[..., :-length] *= size
            read = setting.read(made, x)
            # At such scores the rounding of float32 itself moves a weight by up to about 1e-2.
            assert_close(read, setting.plain(x, weights)[1], "weights", tol=(0.0, 5e-2))

    @check(
        "gradient",
        points=2,
        title="The gradient of the input is right",
        shows="which inputs the gradient reaches",
        hint="Is anything detached, converted to numbers, or computed without grad?",
    )
    @pytest.mark.parametrize("rank", [None, "(T, S)"], ids=["no mask", "mask"])
    def test_gradient(self, student, reference, draw, rank):
        setting, batch, length = self.usual
        mask = None if rank is None else mask_of_rank(draw, rank, batch, setting.heads, length)
        weights = setting.weights(draw)
        x = draw.normal(batch, length, setting.width)
        cotangent = draw.normal(*x.shape)
        found = []
        for module in (student, reference):
            made = setting.build(module, weights)
            watched = x.clone().requires_grad_()
            output = setting.output(made, watched, mask, with_grad=True)
            if not output.requires_grad:
                raise CheckFailure("No gradient can flow back from your output to the input.")
            (output * cotangent).sum().backward()
            gradients = {name: parameter.grad for name, parameter in made.named_parameters()}
            found.append({"x": watched.grad, **gradients})
        mine, theirs = found
        for name in ("x", *(f"{matrix}.weight" for matrix in setting.shapes)):
            words = name.removesuffix(".weight")
            got, wanted = mine.get(name), theirs[name]
            assert wanted is not None
            if got is None and name in mine:
                raise CheckFailure(f"No gradient reaches {words}: it is cut off from the output.")
            if got is not None:
                assert_close(got, wanted, f"gradient of {words}", tol=(1e-3, 1e-4))

    @check(
        "dtype",
        points=1,
        title="float32 in, float32 out; float64 in, float64 out",
        hint="Does a line name a dtype, or make a tensor of its own with the default one?",
    )
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
    def test_float64(self, student, draw, dtype):
        self._assert_dtype_kept(student, draw, dtype)

    @check(
        "dtype",
        points=1,
        title="bfloat16 in, bfloat16 out",
        hint="Does a line name a dtype, or make a tensor of its own with the default one?",
    )
    def test_bfloat16(self, student, draw):
        self._assert_dtype_kept(student, draw, torch.bfloat16)

    def _assert_dtype_kept(self, student, draw, dtype):
        """In and out in ``dtype``, with the numbers that float32 gives."""
        setting, batch, length = self.usual
        weights = setting.small_weights(draw)
        x = draw.normal(batch, length, setting.width, dtype=torch.bfloat16)
        for mask in (None, draw.mask(length, length)):
            wanted = setting.output(setting.build(student, weights), x.float(), mask)
            output = setting.output(setting.build(student, weights, dtype=dtype), x.to(dtype), mask)
            assert_dtype(output, dtype, "output")
            if undone_by_mask(wanted, mask):
                continue
            name = str(dtype).removeprefix("torch.")
            words = f"In {name} your output is not what it is in float32."
            assert_close(output, wanted, "output", message=words, tol=tolerance(dtype))

    @check(
        "device",
        points=1,
        title="Runs on whatever device its input and parameters are on",
        hint="Does a line name a device, or make a tensor without asking x where it is?",
    )
    def test_no_device_of_its_own(self, student, draw):
        setting, batch, length = self.usual
        made = setting.build(student, setting.weights(draw)).to("meta")
        x = torch.empty(batch, length, setting.width, device="meta")
        output = setting.output(made, x)
        if output.device.type != "meta":
            raise CheckFailure("Your output is on another device than the input.")

    @check(
        "purity",
        points=1,
        title="x and mask stay as they were",
        hint="Does a line work in place (+=, masked_fill_, mul_) on something that came from "
        "outside?",
    )
    def test_inputs_untouched(self, student, draw):
        setting, batch, length = self.usual
        made = setting.build(student, setting.weights(draw))
        for rank in ("(T, S)", "(B, H, T, S)"):
            mask = mask_of_rank(draw, rank, batch, setting.heads, length)
            named = {"x": draw.normal(batch, length, setting.width), "mask": mask}
            before = {name: tensor.clone() for name, tensor in named.items()}
            setting.output(made, named["x"], as_it_lies=True)
            setting.output(made, named["x"], mask, as_it_lies=True)
            assert_unchanged(before, named)

    @check(
        "purity",
        points=1,
        title="A call leaves nothing behind for the next one",
        hint="What does forward keep in self, and is it still right for other inputs?",
    )
    def test_nothing_remembered(self, student, draw):
        setting, batch, length = self.usual
        made = setting.build(student, setting.weights(draw))
        x = draw.normal(batch, length, setting.width)
        first = setting.output(made, x)
        setting.output(made, draw.normal(batch + 1, length + 2, setting.width))
        setting.output(made, x, draw.mask(length, length))
        assert_close(
            setting.output(made, x),
            first,
            "output",
            message="The same input gives another output after other calls: something is "
            "remembered.",
        )

    @check(
        "batch",
        points=1,
        title="The items of a batch do not see each other",
        hint="Change one item. May another item's output move?",
    )
    def test_items_are_independent(self, student, draw):
        setting, _, length = self.usual
        batch = 4
        made = setting.build(student, setting.weights(draw))
        x = draw.normal(batch, length, setting.width)
        before = setting.output(made, x)
        words = "Changing one item of the batch moves the output of another."
        changed = x.clone()
        changed[1] = draw.normal(length, setting.width) * 3
        others = [item for item in range(batch) if item != 1]
        assert_close(setting.output(made, changed)[others], before[others], "output", message=words)
        assert_close(
            setting.output(made, x[1:2]),
            before[1:2],
            "output",
            message="An item alone gives another output than in a batch.",
        )
        watched = x.clone().requires_grad_()
        output = setting.output(made, watched, with_grad=True)
        if output.requires_grad:
            (gradient,) = torch.autograd.grad(
                (output[1] * draw.normal(*x.shape[1:])).sum(), watched
            )
            if bool((gradient[others].abs() > 1e-6).any()):
                raise CheckFailure(words)

    @check(
        "layout",
        points=1,
        title="The input need not be contiguous in memory",
        hint="view() wants contiguous memory; reshape() does not.",
    )
    def test_input_that_is_not_contiguous(self, student, draw):
        setting, batch, length = self.usual
        width = setting.width
        mask = draw.mask(batch, 1, length, length).expand(batch, setting.heads, length, length)
        square = draw.mask(length, length) | torch.eye(length, dtype=torch.bool)
        made = setting.build(student, setting.weights(draw))
        for x, given in (
            (draw.normal(length, batch, width).transpose(0, 1), None),
            (draw.normal(batch, width, length).transpose(1, 2), square.T),
            (draw.normal(1, length, width).expand(batch, length, width), mask),
            (draw.normal(batch, length, 2 * width)[..., ::2], None),
        ):
            whole = None if given is None else given.contiguous()
            output = setting.output(made, x, given, as_it_lies=True)
            wanted = setting.output(made, x.contiguous(), whole)
            if undone_by_mask(wanted, given):
                continue
            assert_close(
                output,
                wanted,
                "output",
                message="The output depends on how x or the mask lie in memory.",
            )
