"""A trusted module in this process, used like a student, without any message in between.

For the thousands of calls that comparing faults takes. Results, errors and the handing over of
weights are as through the proxy.
"""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from grader.course.model import Export
from grader.diagnosis.probes import Signature, describe_error
from grader.execution.weights import WrongWeights, set_by_name
from grader.session.errors import CheckFailure
from grader.session.student.returns import check_returned


class DirectStudent:
    """Exports of ``module`` as attributes."""

    def __init__(
        self, module: types.ModuleType, exports: dict[str, Export], source: str = ""
    ) -> None:
        self._module = module
        self._exports = exports
        self._lines = source.splitlines()

    @classmethod
    def of_source(cls, source: str, name: str, exports: dict[str, Export]) -> DirectStudent:
        """Run ``source`` as a module of this process; raises what it raises."""
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(compile(source, f"<{name}>", "exec", dont_inherit=True), module.__dict__)
        return cls(module, exports, source)

    def describe(self, error: Exception) -> Signature:
        """The signature of a call that ended with ``error``."""
        if isinstance(error, CheckFailure):
            return Signature(results=None, error=CheckFailure.__name__)
        line = ""
        for frame, number in traceback.walk_tb(error.__traceback__):
            if frame.f_globals.get("__name__") == self._module.__name__:
                line = self._lines[number - 1].strip()
        if isinstance(error, WrongWeights):
            return describe_error(["TypeError"], str(error), "")
        names = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"]
        return describe_error(names, str(error), line)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        export = self._exports[name]
        return partial(_call, getattr(self._module, name), export, name)


def _call(thing: Callable[..., Any], export: Export, name: str, *given: Any, **options: Any) -> Any:
    result = thing(*given, **options)
    if export.forward is None or not isinstance(result, torch.nn.Module):
        return check_returned(result, export.returns, name)
    returns = export.forward.returns
    result.register_forward_hook(lambda _, __, output: check_returned(output, returns, name))
    own = getattr(result, "load_weights", None)
    vars(result)["load_weights"] = partial(_load_weights, result, own)
    return result


@torch.no_grad()
def _load_weights(
    module: torch.nn.Module,
    own: Callable[[dict[str, torch.Tensor]], None] | None,
    weights: dict[str, torch.Tensor],
) -> None:
    if own is not None:
        own(weights)
    else:
        set_by_name(module, weights)
