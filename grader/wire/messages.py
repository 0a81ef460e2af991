"""What crosses between the trusted side and a worker about a student's code, as typed messages.

Only these classes, encoded with msgpack, and raw tensor bytes ever cross. Whatever comes from a
worker is decoded into them strictly; anything else is a broken protocol.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from grader.wire.commands import Done, FromWorker, Message, Probed, Ready, Targets


class TensorSpec(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One tensor of a frame: ``size`` bytes of its blob, in the order of the list.

    ``strides`` is empty for dense tensors; a strided one's bytes span its whole memory extent.
    """

    dtype: str
    shape: list[int]
    size: int
    strides: list[int] = []
    device: str = "cpu"
    requires_grad: bool = False


# Values: what is passed to a call, and what it gives back.


class Plain(Message):
    value: bool | int | float | str | None


class TensorRef(Message):
    index: int


class Items(Message):
    """A tuple or a list."""

    kind: str
    items: list[Value]


class Entries(Message):
    """A dict whose keys are strings."""

    items: dict[str, Value]


class DType(Message):
    name: str


class Handle(Message):
    """An object that stays where it is; ``items`` holds its members if it is a named tuple."""

    id: int
    type: str
    items: list[Value] | None = None


Value: TypeAlias = Plain | TensorRef | Items | Entries | DType | Handle


class CallSignature(Message):
    """The declared way to call something; see ``binding``."""

    arguments: list[str] = []
    options: list[str] = []


class Assigned(Message):
    """New values for parameters of the module ``handle``; ``tensors`` are indices, by name."""

    handle: int
    tensors: dict[str, int]
    training: bool


# Requests: trusted side to worker.


class Load(Message):
    """Import the student's file, or only its imports, definitions and simple assignments."""

    path: str
    module: str
    exports: list[str]
    definitions_only: bool = False
    forbidden: list[str] = []
    """Dotted names and options whose use is to be noticed when it happens."""


class Analyse(Message):
    """Find calls of ``forbidden`` dotted names in a file, without running it."""

    path: str
    forbidden: list[str]


class Examine(Message):
    """Say of a file, from its source alone, whether it can keep anything between calls."""

    path: str


class BeginCheck(Message):
    """Forget objects of earlier checks; put global state back; seed the random generators.

    With ``fill`` memory that torch hands out holds NaN, and not what was there before.
    """

    seed: int
    fill: bool = False


class Call(Message):
    """Call an export (``name``), an object (``handle``, and ``name`` for a method), or a submodule.

    Of a submodule ``part`` is the dotted name within the module ``handle``.
    """

    name: str | None = None
    handle: int | None = None
    part: str = ""
    arguments: list[Value] = []
    options: dict[str, Value] = {}
    signature: CallSignature | None = None
    assigned: list[Assigned] = []
    grad_enabled: bool = True
    keep_graph: bool = False
    tensors: list[TensorSpec] = []


class Backward(Message):
    """Vector-Jacobian product of an earlier call: ``cotangents[i]`` belongs to its i-th tensor."""

    call: int
    cotangents: dict[int, int]
    tensors: list[TensorSpec] = []


class Attribute(Message):
    handle: int
    name: str


class Inspect(Message):
    """Read a module's parameters and buffers."""

    handle: int


class Read(Message):
    """Read numbers of a module's parameters and buffers; those that are not there are left out."""

    handle: int
    names: list[str]


class LoadWeights(Message):
    """Hand ``weights`` (tensor index by name) to a module: its ``load_weights``, or by name."""

    handle: int
    weights: dict[str, int]
    tensors: list[TensorSpec] = []


class Convert(Message):
    """``module.to(dtype)`` or ``module.to(device)``."""

    handle: int
    dtype: str | None = None
    device: str | None = None


class Train(Message):
    """Train a language model on ``batches``, a tensor's index; see ``training.fit``."""

    handle: int
    batches: int
    learning_rate: float
    assigned: list[Assigned] = []
    tensors: list[TensorSpec] = []


Request: TypeAlias = (
    Load
    | Targets
    | Analyse
    | Examine
    | BeginCheck
    | Call
    | Backward
    | Attribute
    | Inspect
    | Read
    | LoadWeights
    | Convert
    | Train
)

# Replies: worker to trusted side.


Stub: TypeAlias = Literal["raises", "returns"]
"""Whether what nobody has filled in raises or gives back None; of a class, if any part raises."""


class Loaded(FromWorker):
    """What each export is (``module``, ``class``, ``function`` or ``other``), if it is there."""

    exports: dict[str, str]
    defined: list[str]
    elsewhere: dict[str, str] = {}
    """Of the exports that are not there, where the file defines them: see ``loading``."""
    self_contained: bool = True
    """Whether the file's definitions use nothing that its other statements make."""
    changed: list[str] = []
    """What it set for its whole process, and was put back: as verbs that follow ``your file``."""
    stubs: dict[str, Stub] = {}
    """Exports that nobody has filled in, and how they end."""


class ForbiddenUse(Message):
    """A use of what an assignment forbids, or ``problem``: why a file cannot be searched for it."""

    name: str
    """The assignment's entry."""
    by: str = ""
    """What is used, where that is another that does the same job."""
    problem: str = ""
    line: int = 0
    """0 for what ran, and no line of the source shows."""
    text: str = ""
    file: str = ""
    """Empty for the main file; else which of the student's other files it is."""

    @property
    def place(self) -> str:
        """``line 3``, or ``line 3 of helpers.py``."""
        if not self.line:
            return "your code as it runs"
        return f"line {self.line} of {self.file}" if self.file else f"line {self.line}"


class Analysed(FromWorker):
    uses: list[ForbiddenUse]


class Examined(FromWorker):
    is_stateless: bool


class Parameter(Message):
    """A parameter or a buffer, without its numbers."""

    name: str
    shape: list[int]
    dtype: str
    device: str = "cpu"
    same_as: str | None = None
    """Name of the earlier parameter that is the very same object."""
    trained: bool = True
    """Whether it requires gradients."""


class Module(Message):
    """State of an ``nn.Module``: parameters (with repetitions), buffers and submodules by name."""

    parameters: list[Parameter]
    buffers: list[Parameter]
    submodules: list[str]


class Returned(FromWorker):
    """A call's result. ``changed`` gives the new content of inputs that were written to."""

    value: Value
    call: int
    module: Module | None = None
    changed: dict[int, int] = {}
    tensors: list[TensorSpec] = []


class Inspected(FromWorker):
    module: Module


class Trained(FromWorker):
    """The loss of each step, and what has become of the module."""

    losses: list[float]
    module: Module


class Gradients(FromWorker):
    """Gradients by the index of the call's input tensor, and by parameter name."""

    inputs: dict[int, int]
    parameters: dict[str, int]
    tensors: list[TensorSpec] = []


class Frame(Message):
    """A line of the student's own file."""

    file: str
    line: int
    text: str


class Raised(FromWorker):
    """The student's code raised. ``bases`` are names of built-in exceptions it derives from."""

    kind: str
    """``raised``; ``syntax``: refused by the compiler; ``signature``: cannot be called as declared;
    ``weights``: the declared parameters are not there."""
    type: str
    bases: list[str]
    message: str
    frame: Frame | None


Problem: TypeAlias = Literal[
    "a sparse tensor",
    "a quantised tensor",
    "a nested tensor",
    "a tensor of an unusual dtype",
    "a tensor with too many axes",
    "a tensor that is larger than this grader accepts",
    "tensors that are larger together than this grader accepts",
    "more than this grader accepts",
    "a module with more parts or names than this grader accepts",
]


class Unusable(FromWorker):
    """A result that cannot be compared. Students see why, so that no other words are accepted."""

    problem: Problem
    size: int = 0
    """How much it is, where it is too much."""


Reply: TypeAlias = (
    Ready
    | Probed
    | Loaded
    | Analysed
    | Examined
    | Done
    | Returned
    | Inspected
    | Trained
    | Gradients
    | Raised
    | Unusable
)
