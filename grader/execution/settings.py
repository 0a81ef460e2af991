"""What a file can set for its whole process: read beforehand, and put back before each check.

This lists nothing that students set. torch and Python are asked for all that they can both tell and
set; only what has no such pair, such as a mode that is left on, is written out.
"""

from __future__ import annotations

import contextlib
import gc
import locale
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import torch

_PAIRS = (("get_", "", "set_", ""), ("is_", "", "set_", ""), ("get", "", "set", ""),
          ("", "", "set_", ""), ("", "_enabled", "enable_", ""))  # fmt: skip
"""How a getter's name begins and ends, and its setter's: the rest of both is the same."""

_LEFT_OUT = ("rng_state", "thread_name", "default_device", "debug_mode", "autocast")
"""Put back by the check's seed, by themselves, or of no consequence."""

_WORDS = {
    "grad": "gradients",
    "anomaly": "anomaly detection",
    "num threads": "number of threads",
    "recursionlimit": "recursion limit",
    "trace": "trace function",
    "profile": "profile function",
}
_PLAIN = (bool, int, float, str, tuple, list, torch.dtype, type(None))
_STREAMS = ("stdin", "stdout", "stderr", "excepthook", "displayhook", "breakpointhook")
_SIGNALS = [(one.name, int(one)) for one in signal.Signals]
_MOST_MODES = 64
_MOST_SHOWN = 60
"""Characters of what is said of one setting's value."""


class Setting(NamedTuple):
    """One thing that is so for the whole process, and what it is called."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


class Settings:
    """How everything is at this moment."""

    def __init__(self) -> None:
        self._kept = [(one, one.read()) for one in readable()]

    def restore(self) -> list[str]:
        """Put everything back; returns what was otherwise, as verbs that follow ``your file``."""
        changed = list(_leave_modes())
        for one, kept in self._kept:
            try:
                now = one.read()
                if now is kept or _same(now, kept):
                    continue
                _write(one, kept)
            except Exception:
                continue
            changed.append(_words(one.name, now, kept))
        return list(dict.fromkeys(changed))


@cache
def readable() -> list[Setting]:
    """All that can be read and set in this process."""
    found = []
    for one in [*_of_torch(), *_of_python(), *_of_numpy()]:
        with contextlib.suppress(Exception):
            one.read()
            found.append(one)
    return found


def _of_torch() -> Iterator[Setting]:
    backends = [part for part in vars(torch.backends).values() if isinstance(part, type(torch))]
    yield from _pairs(torch, torch._C, torch.__future__, torch.jit, *backends)
    for device in ("cpu", "cuda"):
        for what, name in (("enabled", "autocast"), ("dtype", "the dtype of autocast")):
            is_or_get = torch.is_autocast_enabled if what == "enabled" else torch.get_autocast_dtype
            write = getattr(torch, f"set_autocast_{what}")
            yield Setting(f"{name} on {device}", partial(is_or_get, device), partial(write, device))
    options = torch._tensor_str.PRINT_OPTS
    yield Setting("the print options", lambda: dict(vars(options)), vars(options).update)


def _of_python() -> Iterator[Setting]:
    yield from _pairs(sys, gc)
    for stream in _STREAMS:
        yield Setting(f"sys.{stream}", partial(getattr, sys, stream), partial(setattr, sys, stream))
    yield Setting("the working directory", os.getcwd, os.chdir)
    yield Setting("environment variables", lambda: dict(os.environ), _set_environment)
    yield Setting("the warnings filters", lambda: list(warnings.filters), _set_filters)
    yield Setting("the handlers of signals", _handlers, _set_handlers)
    yield Setting(
        "the locale",
        partial(locale.setlocale, locale.LC_ALL),
        partial(locale.setlocale, locale.LC_ALL),
    )
    yield Setting(
        "garbage collection", gc.isenabled, lambda on: gc.enable() if on else gc.disable()
    )


def _of_numpy() -> Iterator[Setting]:
    if (numpy := sys.modules.get("numpy")) is not None:
        for read, write, words in (
            (numpy.geterr, numpy.seterr, "numpy's errors"),
            (numpy.get_printoptions, numpy.set_printoptions, "numpy's print options"),
        ):
            yield Setting(words, read, partial(_by_name, write))


def _pairs(*places: Any) -> Iterator[Setting]:
    """Whatever ``places`` have a getter without arguments for, and a setter: each thing once."""
    seen: set[str] = set()
    for place in places:
        for getter in dir(place):
            for thing, setter in _setters(place, getter):
                if thing in seen or any(part in thing for part in _LEFT_OUT):
                    continue
                read = getattr(place, getter)
                with warnings.catch_warnings(), contextlib.suppress(Exception):
                    warnings.simplefilter("error")
                    value = read()
                    if type(value) in _PLAIN or type(value).__module__.startswith("torch"):
                        seen.add(thing)
                        bare = thing.removesuffix("_enabled").replace("_", " ")
                        words = _WORDS.get(bare, bare)
                        name = words if isinstance(value, bool) else f"the {words}"
                        yield Setting(name, read, setter)


def _setters(place: Any, getter: str) -> Iterator[tuple[str, Callable[..., object]]]:
    """What ``getter`` may tell, and the setter that ``place`` has for that."""
    for begins, ends, setter_begins, setter_ends in _PAIRS:
        bare = getter.lstrip("_")
        if bare.startswith(begins) and bare.endswith(ends) and callable(getattr(place, getter)):
            thing = bare[len(begins) : len(bare) - len(ends)]
            for underscore in ("", "_"):
                setter = getattr(place, f"{underscore}{setter_begins}{thing}{setter_ends}", None)
                if thing.strip("_") == thing != "" and callable(setter):
                    yield thing, setter


def _leave_modes() -> Iterator[str]:
    """Leave what can be entered and not read, the default device among it; says what that was."""
    from torch.utils import _device

    if getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None) is not None:
        del torch._GLOBAL_DEVICE_CONTEXT.device_context
    for _ in range(min(torch._C._len_torch_function_stack(), _MOST_MODES)):
        mode = torch._C._pop_torch_function_stack()
        if not isinstance(mode, _device.DeviceContext):
            yield "leaves a mode of torch functions on"
        elif mode.device.type != "cpu":
            yield f"sets the default device to {mode.device}"
    _device.CURRENT_DEVICE = None
    for _ in range(min(torch._C._len_torch_dispatch_stack(), _MOST_MODES)):
        torch._C._pop_torch_dispatch_stack(None)
        yield "leaves a mode of torch's dispatcher on"
    for _ in range(_MOST_MODES):
        if torch._C._autograd._top_saved_tensors_default_hooks(True) is None:
            break
        torch._C._autograd._pop_saved_tensors_default_hooks()
        yield "leaves hooks for saved tensors on"
    if torch.is_inference_mode_enabled():
        _held.append(torch._C._InferenceMode(False))
        _held[-1].__enter__()
        yield "leaves inference mode on"


_held: list[Any] = []
"""What has to live for a mode to stay as it was put back."""


def _set_environment(kept: dict[str, str]) -> None:
    for name in os.environ.keys() - kept.keys():
        del os.environ[name]
    os.environ.update(kept)


def _set_filters(kept: list[Any]) -> None:
    warnings.filters[:] = kept  # type: ignore[index]
    for name in ("_filters_mutated", "_filters_mutated_lock_held"):
        with contextlib.suppress(AttributeError, RuntimeError):
            getattr(warnings, name)()


def _handlers() -> dict[str, Any]:
    return {name: signal.getsignal(number) for name, number in _SIGNALS}


def _set_handlers(kept: dict[str, Any]) -> None:
    for name, now in _handlers().items():
        if now is not kept[name]:
            if name == "SIGALRM":  # it may be on its way, and nobody would take it
                signal.alarm(0)
            signal.signal(getattr(signal, name), kept[name])


def _same(now: Any, kept: Any) -> bool:
    """Whether two values are one. Only those of Python and torch are asked, and no student's."""
    kind = type(now)
    known = kind in _PLAIN or kind is dict or kind.__module__.startswith("torch.")
    return known and kind is type(kept) and bool(now == kept)


def _by_name(write: Callable[..., object], values: dict[str, Any]) -> None:
    write(**values)


def _write(setting: Setting, kept: Any) -> None:
    try:
        setting.write(kept)
    except TypeError:
        setting.write(*kept)


def _words(name: str, now: Any, kept: Any) -> str:
    if isinstance(now, bool):
        return f"switches {name} {'on' if now else 'off'}"
    if isinstance(now, int | float | str | torch.dtype):
        return f"sets {name} to {str(now).removeprefix('torch.')[:_MOST_SHOWN]}"
    if isinstance(now, dict) and isinstance(kept, dict):
        keys = [str(key) for key in {**now, **kept} if now.get(key) != kept.get(key)]
        return f"changes {name} ({', '.join(keys)[:_MOST_SHOWN]})"
    return f"changes {name}"
