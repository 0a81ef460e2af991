"""The command ``grade``: finds its subcommands, and gives every outcome an exit code."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import click

from grader import __version__
from grader.cli.errors import InfrastructureError, print_to_stderr

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
"""As a shell reports a program that SIGPIPE ended; 1 is taken, it means graded but too low."""

_HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


@contextlib.contextmanager
def _quiet_about_pipes() -> Iterator[None]:
    """Within click's own handler, which would make a broken pipe exit code 1."""
    try:
        yield
    except BrokenPipeError:
        raise click.exceptions.Exit(EXIT_BROKEN_PIPE) from None


class CommandFolder(click.Group):
    """A group whose commands are the modules of a package.

    ``test_my_tests.py`` with a click command called ``command`` is ``test-my-tests``. Only the
    module of the command that runs is imported, except to list them all. Modules that begin with
    an underscore, or have no ``command``, are none.
    """

    def __init__(self, *args: Any, package: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in self._names() if self.get_command(ctx, name) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._names():
            return None
        module = importlib.import_module(f"{self.package}.{cmd_name.replace('-', '_')}")
        found = getattr(module, "command", None)
        if not isinstance(found, click.Command):
            return None
        # Whatever the function is called, the file names the command; -h works for each.
        found.name = cmd_name
        found.context_settings = {**_HELP_OPTIONS, **found.context_settings}
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from grader.report.words import nearest

            near = nearest(name, self.list_commands(ctx))
            suggestion = f" Did you mean {near!r}?" if near else ""
            ctx.fail(f"No such command {name!r}.{suggestion}")
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _quiet_about_pipes():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _quiet_about_pipes():
            return super().invoke(ctx)

    def _names(self) -> list[str]:
        spec = importlib.util.find_spec(self.package)
        folders = (spec and spec.submodule_search_locations) or []
        modules = (module.name for module in pkgutil.iter_modules(folders))
        return sorted(name.replace("_", "-") for name in modules if not name.startswith("_"))


@click.group(cls=CommandFolder, name="grade", package="grader.cli", context_settings=_HELP_OPTIONS)
@click.version_option(__version__, prog_name="grade")
def grade() -> None:
    """Grade PyTorch code for attention, and name the misconception behind a wrong answer."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run ``grade`` with ``arguments`` (default: the process's) and return its exit code.

    0 graded, 1 graded but under the limit, 2 wrong usage, 3 the grader itself failed, 130
    interrupted, 141 whoever read the output went away. Commands end with ``ctx.exit(code)``.
    """
    try:
        result = grade.main(
            args=None if arguments is None else list(arguments),
            prog_name="grade",
            standalone_mode=False,
        )
    except click.ClickException as error:
        # click's own errors quote what they were given as it is.
        said = io.StringIO()
        error.show(said)
        print_to_stderr(said.getvalue())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print_to_stderr("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        _explain(error)
        return InfrastructureError.exit_code
    return result if isinstance(result, int) else 0


def main() -> NoReturn:
    """The console script."""
    if sys.getfilesystemencoding() != "utf-8":
        # A locale that knows only ASCII, say: the letters of paths would not survive. See PEP 540.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    code = run()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = EXIT_BROKEN_PIPE
    if code == EXIT_BROKEN_PIPE:
        # What is still buffered would fail once more when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _explain(error: Exception) -> None:
    if os.environ.get("GRADE_TRACEBACK"):
        print_to_stderr("".join(traceback.format_exception(error)))
    message = " ".join(f"{type(error).__name__}: {error}".splitlines())
    print_to_stderr(f"the grader itself failed: {message}")
    if not os.environ.get("GRADE_TRACEBACK"):
        print_to_stderr(
            "Set GRADE_TRACEBACK=1 to see where, and report it to whoever runs the grader."
        )
