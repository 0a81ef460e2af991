"""Trains the TransformerLM of transformer.py, which lies beside this file.

    python train.py

The texts are made up: five random tokens out of ten, and then the same five again, in another order
and under other names. Which, is the rule: the seed draws it, and the model has to find it out.
Nobody can predict a random token, so that the loss on the first half cannot fall below ln 10 =
2.303 nats, its floor. The second half can be read off the first, so that its floor is 0. A model is
right when it comes close to both floors, and not when its loss is as low as can be: below the floor
there is only one explanation, namely that it sees what it should predict.

The same seed gives the same numbers. It takes a few seconds on one core.
"""

import argparse
import math
import sys

import torch
from torch.nn.functional import cross_entropy

VOCABULARY = 10
HALF = 5
SIZES = {
    "vocab_size": VOCABULARY,
    "embed_dim": 32,
    "num_heads": 4,
    "num_layers": 2,
    "ffn_dim": 64,
    "max_length": 2 * HALF,
}
STEPS = 120
BATCH = 32
LEARNING_RATE = 1e-2
FLOOR = math.log(VOCABULARY)
SLACK = 0.2


def draw_rule(generator):
    """How the second half repeats the first: the new name of each token, and the new order."""
    names = torch.randperm(VOCABULARY, generator=generator)
    return names, torch.randperm(HALF, generator=generator)


def texts(count, rule, generator):
    """Tokens (count, 2 HALF): a random half, and the same again by the rule."""
    names, order = rule
    half = torch.randint(0, VOCABULARY, (count, HALF), generator=generator)
    return torch.cat([half, names[half[:, order]]], dim=1)


def start(model, generator):
    """Set every matrix at random; vectors, such as biases, stay as they were made."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))


def train(model, rule, generator, progress=lambda step, loss: None):
    """Take STEPS steps of Adam, with a rate that falls evenly to 0; returns the loss of each."""
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / STEPS)
    model.train()
    losses = []
    for step in range(STEPS):
        tokens = texts(BATCH, rule, generator)
        # After each token, the model has to predict the next one.
        logits = model(tokens[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        progress(step + 1, losses[-1])
    return losses


@torch.no_grad()
def evaluate(model, rule, generator):
    """The loss on the random half and on the repeated half of new texts."""
    model.eval()
    tokens = texts(256, rule, generator)
    losses = cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:], reduction="none")
    return losses[:, : HALF - 1].mean().item(), losses[:, HALF - 1 :].mean().item()


def verdict(random, repeated):
    """What the two losses say about the model."""
    if math.isnan(random + repeated):
        return "The loss is not a number: is there a token that may see nothing at all?"
    if random < FLOOR - SLACK:
        return "LEAK: random tokens are predicted better than anybody can who does not see them."
    if repeated > SLACK:
        return "Not learned: the second half repeats the first, and the model does not."
    if random > FLOOR + SLACK:
        return "Not right: the model is sure of random tokens, and wrong."
    return "Right: both halves are at their floors."


def plot(losses, floor, width=60, height=10):
    """The curve of the losses as text; the floor is a line of dashes."""
    top = max([loss for loss in losses if math.isfinite(loss)], default=1.0)
    columns = [losses[i * len(losses) // width] for i in range(min(width, len(losses)))]
    lines = []
    for row in range(height, 0, -1):
        low, high = (row - 1) * top / height, row * top / height
        blank = "-" if low <= floor < high else " "
        marks = ["*" if low < loss <= high else blank for loss in columns]
        lines.append(f"{high:5.2f} |{''.join(marks)}")
    return "\n".join([*lines, f" 0.00 +{'-' * len(columns)}> step {len(losses)}"])


def bar(step, loss):
    """Show how far the training has come."""
    if sys.stderr.isatty():
        done = 40 * step // STEPS
        end = "\n" if step == STEPS else ""
        line = f"\r[{'#' * done}{'.' * (40 - done)}] step {step}/{STEPS}  loss {loss:.3f}"
        print(line, end=end, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description="Train your TransformerLM on a small task.")
    parser.add_argument(
        "--seed", type=int, default=0, help="of weights, texts and their rule (default: 0)"
    )
    seed = parser.parse_args().seed
    from transformer import TransformerLM

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(seed)
    model = TransformerLM(**SIZES)
    start(model, generator)
    rule = draw_rule(generator)
    losses = train(model, rule, generator, bar)
    random, repeated = evaluate(model, rule, generator)
    # Of the 2 HALF - 1 predictions of a text, HALF - 1 are of random tokens.
    floor = FLOOR * (HALF - 1) / (2 * HALF - 1)
    print(f"loss of each step; the line of dashes is the floor of both halves, {floor:.3f}")
    print(plot(losses, floor))
    print(f"random half    {random:.3f}  (floor {FLOOR:.3f})")
    print(f"repeated half  {repeated:.3f}  (floor 0)")
    print(verdict(random, repeated))


if __name__ == "__main__":
    main()
