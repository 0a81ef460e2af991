"""Training a student's language model where it lives."""

import pytest
import torch
from torch import nn

from grader.execution.training import fit
from grader.session.errors import StudentError

MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 4)
        self.head = nn.Linear(4, vocabulary)
        self.unused = nn.Parameter(torch.ones(2))
        self.fixed = nn.Parameter(torch.ones(4), requires_grad=False)

    def forward(self, tokens):
        if tokens.shape[0] > 8:
            raise ValueError("too many")
        return self.head(self.embedding(tokens) + self.fixed)
"""
EXPORT = {
    "options": ["vocabulary"],
    "forward": {"arguments": ["tokens"], "returns": ["logits"]},
}


def counting(steps, batch=3, vocabulary=5):
    """Batches (steps, batch, 7) of sequences that count upwards from a random token."""
    first = torch.randint(0, vocabulary, (steps, batch, 1), generator=torch.manual_seed(0))
    return (first + torch.arange(7)) % vocabulary


@pytest.fixture
def model(hand_in):
    return hand_in(MODEL, Model=EXPORT).Model(vocabulary=5)


def test_a_model_learns_what_can_be_learned(model):
    losses = model.fit(counting(150), learning_rate=0.05)
    assert len(losses) == 150
    assert losses[-1] < 0.1 < losses[0]


def test_the_losses_and_their_floor_are_kept_for_the_report(model, hand_in):
    losses = model.fit(counting(4), learning_rate=0.05, floor=0.5)
    (curve,) = hand_in.last.take_evidence()
    assert (curve.kind, curve.name, curve.expected) == ("curve", "loss", 0.5)
    assert curve.yours == pytest.approx(losses, abs=1e-4)
    assert hand_in.last.take_evidence() == []


def test_the_mirror_holds_the_trained_parameters(model):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    model.fit(counting(3), learning_rate=0.1)
    moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    assert moved == {"embedding.weight", "head.weight", "head.bias"}
    tokens = torch.arange(5)[None]
    rows = model.embedding.weight + before["fixed"]
    torch.testing.assert_close(model(tokens)[0], rows @ model.head.weight.T + model.head.bias)


def test_it_starts_from_the_parameters_set_in_the_mirror(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    (loss,) = model.fit(counting(1), learning_rate=0.1)
    assert loss == pytest.approx(torch.tensor(5.0).log().item())


def test_equal_starts_and_batches_give_equal_losses(hand_in):
    student = hand_in(MODEL, Model=EXPORT)
    first, second = student.Model(vocabulary=5), student.Model(vocabulary=5)
    second.load_state_dict(first.state_dict())
    batches = counting(20)
    losses = first.fit(batches, learning_rate=0.1)
    assert second.fit(batches, learning_rate=0.1) == losses


def test_what_the_model_raises_arrives_as_its_error(model):
    with pytest.raises(StudentError) as caught:
        model.fit(counting(1, batch=9), learning_rate=0.1)
    assert isinstance(caught.value, ValueError)


def test_the_optimiser_is_adam_with_a_falling_rate():
    torch.manual_seed(3)
    mine = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5))
    theirs = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5))
    theirs.load_state_dict(mine.state_dict())
    batches = counting(30)
    optimiser = torch.optim.Adam(theirs.parameters(), lr=0.1, betas=(0.9, 0.99))
    losses = []
    for step, batch in enumerate(batches):
        optimiser.param_groups[0]["lr"] = 0.1 * (1 - step / 30)
        loss = nn.functional.cross_entropy(theirs(batch[:, :-1]).mT, batch[:, 1:])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert fit(mine, batches, learning_rate=0.1) == pytest.approx(losses, rel=1e-3, abs=1e-4)
