"""The command as a process: what it imports, how it finds commands, how each ending is reported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from grader import __version__
from grader.cli.errors import GradeError, InfrastructureError
from grader.cli.main import CommandFolder, grade, run
from grader.report import files

from ..report import samples

ROOT = Path(__file__).parents[2]


def process(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **changes}
    return subprocess.run(
        [sys.executable, "-m", "grader.cli", *arguments],
        capture_output=True,
        encoding="utf-8",
        env=environment,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A group over a package on the disk; call it with the source of its modules."""

    def make(**modules: str) -> CommandFolder:
        name = f"commands_{tmp_path.name}"
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").touch()
        for module, source in modules.items():
            header = "import click\nfrom grader.cli.errors import *\n"
            (package / f"{module}.py").write_text(header + source, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        return CommandFolder("grade", package=name)

    yield make
    for module in [module for module in sys.modules if module.startswith("commands_")]:
        del sys.modules[module]


def ending(folder, monkeypatch, body: str) -> int:
    """The exit code of a command whose function has this body."""
    group = folder(end=f'@click.command\ndef command():\n    """End."""\n    {body}\n')
    monkeypatch.setattr("grader.cli.main.grade", group)
    return run(["end"])


HELLO = '@click.command\ndef command():\n    """Say hello."""\n    click.echo("hello")\n'


class TestStart:
    def test_help_imports_nothing_heavy(self):
        program = (
            "import sys\n"
            "from grader.cli.main import run\n"
            "run(['--help'])\n"
            "heavy = {'torch', 'numpy', 'pytest', 'rich', 'msgspec', 'dask', 'nbformat'}\n"
            "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert done.stderr.strip() == "[]"
        assert "Usage: grade" in done.stdout

    @pytest.mark.parametrize("option", ["--help", "-h"])
    def test_help_lists_the_commands(self, option):
        done = process(option)
        assert done.returncode == 0
        assert "show" in done.stdout
        assert "schema" in done.stdout

    @pytest.mark.parametrize("command", CommandFolder(package="grader.cli").list_commands(None))
    def test_every_command_says_what_it_does(self, command):
        found = grade.get_command(None, command)
        assert found.help
        assert found.get_short_help_str().endswith((".", "..."))
        result = CliRunner().invoke(grade, [command, "-h"])
        assert result.exit_code == 0
        assert f"Usage: grade {command}" in result.output

    def test_version(self):
        done = process("--version")
        assert (done.returncode, done.stdout) == (0, f"grade, version {__version__}\n")

    def test_without_a_command_it_is_wrong_usage(self):
        done = process()
        assert done.returncode == 2
        assert "Usage: grade" in done.stderr


class TestDiscovery:
    def test_a_file_is_a_command(self, folder):
        group = folder(say_hello=HELLO)
        assert group.list_commands(None) == ["say-hello"]
        result = CliRunner().invoke(group, ["say-hello"])
        assert result.output == "hello\n"
        assert "Say hello." in CliRunner().invoke(group, ["--help"]).output

    def test_files_that_are_none(self, folder):
        group = folder(_private=HELLO, helpers="def command(): pass\n", other="x = 1\n", real=HELLO)
        assert group.list_commands(None) == ["real"]
        for name in ("_private", "-private", "helpers", "other", "__init__"):
            assert group.get_command(None, name) is None

    def test_only_the_command_that_runs_is_imported(self, folder):
        group = folder(hello=HELLO, broken="raise RuntimeError('imported')\n")
        assert CliRunner().invoke(group, ["hello"]).output == "hello\n"

    @pytest.mark.parametrize(
        ("typed", "said"),
        [
            ("shwo", "No such command 'shwo'. Did you mean 'show'?"),
            ("zzzzzz", "No such command 'zzzzzz'.\n"),
            ("say_hello", "No such command 'say_hello'. Did you mean 'say-hello'?"),
            ("\x1b[31m::error::", "\\x1b[31m::error::"),
        ],
    )
    def test_a_near_miss_is_suggested(self, folder, monkeypatch, capsys, typed, said):
        monkeypatch.setattr("grader.cli.main.grade", folder(show=HELLO, say_hello=HELLO))
        assert run([typed]) == 2
        assert said in capsys.readouterr().err


class TestEndings:
    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ("pass", 0),
            ("click.get_current_context().exit(1)", 1),
            ("raise GradeError('x')", 2),
            ("raise click.UsageError('x')", 2),
            ("raise InfrastructureError('x')", 3),
            ("1 / 0", 3),
            ("raise RecursionError", 3),
            ("raise KeyboardInterrupt", 130),
            ("raise click.Abort", 130),
            ("raise BrokenPipeError", 141),
        ],
    )
    def test_exit_codes(self, folder, monkeypatch, body, code):
        assert ending(folder, monkeypatch, body) == code

    def test_an_error_is_said_in_one_line_of_plain_text(self, folder, monkeypatch, capsys):
        ending(folder, monkeypatch, r"raise GradeError('no \x1b[31mfile\u202e\n::error::x')")
        assert capsys.readouterr().err == "Error: no \\x1b[31mfile\\u202e\n\\::error::x\n"

    def test_a_failure_of_the_grader_is_one_line_and_a_hint(self, folder, monkeypatch, capsys):
        monkeypatch.delenv("GRADE_TRACEBACK", raising=False)
        ending(folder, monkeypatch, r"raise ValueError('a\nb')")
        said = capsys.readouterr().err.splitlines()
        assert said[0] == "the grader itself failed: ValueError: a b"
        assert "GRADE_TRACEBACK=1" in said[1]
        assert len(said) == 2

    def test_the_traceback_is_there_when_asked_for(self, folder, monkeypatch, capsys):
        monkeypatch.setenv("GRADE_TRACEBACK", "1")
        ending(folder, monkeypatch, "raise ValueError('a')")
        said = capsys.readouterr().err
        assert "end.py" in said
        assert said.endswith("the grader itself failed: ValueError: a\n")

    def test_errors_know_their_codes(self):
        assert GradeError("x").exit_code == 2
        assert InfrastructureError("x").exit_code == 3
        assert issubclass(InfrastructureError, click.ClickException)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
class TestPipes:
    def test_a_reader_that_goes_away_is_no_noise(self, tmp_path):
        report = str(tmp_path / "report.json")
        files.write_atomically(report, files.encode(samples.course()))
        read, write = os.pipe()
        os.close(read)
        for arguments in (["schema"], ["--help"], ["show", "--help"], ["show", report]):
            done = subprocess.run(
                [sys.executable, "-m", "grader.cli", *arguments],
                stdout=write,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            assert done.stderr == b""
            assert done.returncode == 141
        os.close(write)

    def test_what_goes_to_files_is_written_all_the_same(self, tmp_path):
        report, kept = str(tmp_path / "report.json"), tmp_path / "report.xml"
        files.write_atomically(report, files.encode(samples.course()))
        read, write = os.pipe()
        os.close(read)
        formats = ["--format", "markdown", "--format", f"junit={kept}"]
        done = subprocess.run(
            [sys.executable, "-m", "grader.cli", "export", report, *formats],
            stdout=write,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        os.close(write)
        assert done.returncode == 141
        assert kept.read_bytes().startswith(b"<?xml")

    @pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
    def test_output_is_utf8_whatever_the_locale(self, encoding, tmp_path):
        done = process("show", str(tmp_path / "né注"), PYTHONIOENCODING=encoding)
        assert "né注: No such file" in done.stderr
