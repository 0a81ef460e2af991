"""The ``student`` proxy: a module that lives elsewhere, used as if it had been imported."""

from __future__ import annotations

from typing import Any

from grader.course.model import Export, Signature
from grader.report.words import nearest
from grader.session.errors import CheckFailure, UndeclaredExport
from grader.session.student.calls import RemoteCall, RemoteObject
from grader.session.student.modules import RemoteModule
from grader.session.student.returns import check_returned
from grader.session.student.transport import Transport
from grader.wire.errors import ProtocolError


class Student:
    """A student's module. Its exports are attributes; tensors go in, tensors come out.

    Results are connected to autograd in the inputs and in module parameters. What the student's
    code raises arrives as ``StudentError``, which is also a ``ValueError`` where it was one.
    """

    def __init__(self, transport: Transport, exports: dict[str, Export]) -> None:
        self._transport = transport
        self._exports = exports
        self.called: set[str] = set()
        """Exports that were asked for."""

    def __getattr__(self, name: str) -> RemoteFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._exports:
            near = nearest(name, self._exports)
            suggestion = f"; did you mean {near}?" if near else ""
            raise UndeclaredExport(
                f"a suite calls {name}, but assignment.toml declares no such export{suggestion}"
            )
        self.called.add(name)
        return RemoteFunction(self._transport, name, self._exports[name])


class RemoteFunction:
    """An export: a function, or a class to construct."""

    def __init__(self, transport: Transport, name: str, export: Export) -> None:
        self._transport = transport
        self._export = export
        self.__name__ = name

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call it; a class of ``nn.Module`` gives a ``RemoteModule``."""
        self._transport.require(self.__name__)
        call = RemoteCall(self._transport, arguments, options, self._export)
        result = call.run(name=self.__name__)
        if call.module is not None:
            if not isinstance(result, RemoteObject):
                raise ProtocolError("it described a module that makes no sense")
            forward = self._export.forward or Signature()
            module = RemoteModule(self._transport, result.remote_id, self.__name__, forward)
            module.mirror(call.module)
            return module
        if self._export.forward is not None:
            raise CheckFailure(f"{self.__name__} is not a class derived from torch.nn.Module.")
        return check_returned(result, self._export.returns, self.__name__)
