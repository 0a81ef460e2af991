"""What the commands share: consoles, and saving."""

from __future__ import annotations

import io
import os
import sys

import pytest

from grader.cli import output
from grader.cli.errors import GradeError, InfrastructureError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI", "TTY_INTERACTIVE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return monkeypatch


class TestConsole:
    def test_a_pipe_is_plain_and_80_wide(self, environment, capsys):
        environment.setenv("COLUMNS", "300")
        console = output.make_console()
        assert console.width == 80
        assert not console.is_terminal
        console.print("[red]a[/red] :smile:", style="red")
        assert capsys.readouterr().out == "[red]a[/red] :smile:\n"

    def test_a_terminal_has_its_own_width_and_colour(self, environment):
        environment.setattr(sys, "stdout", Terminal())
        environment.setenv("COLUMNS", "123")
        console = output.make_console()
        assert console.width == 123
        assert console.color_system == "256"
        assert console.is_interactive

    def test_nothing_moves_in_ci(self, environment):
        environment.setattr(sys, "stderr", Terminal())
        environment.setenv("CI", "true")
        assert not output.make_console(stderr=True).is_interactive

    def test_colour_without_a_terminal_keeps_80_columns(self, environment):
        environment.setenv("FORCE_COLOR", "1")
        environment.setenv("COLUMNS", "300")
        console = output.make_console()
        assert console.color_system is not None
        assert console.width == 80

    def test_no_color(self, environment):
        environment.setattr(sys, "stdout", Terminal())
        environment.setenv("NO_COLOR", "1")
        assert output.make_console().no_color

    def test_stderr(self, capsys):
        output.make_console(stderr=True).print("progress")
        assert capsys.readouterr() == ("", "progress\n")


class TestSaving:
    def test_to_a_file(self, tmp_path):
        path = str(tmp_path / "report.json")
        output.check_destination(path)
        output.save(b"{}", path)
        assert (tmp_path / "report.json").read_bytes() == b"{}"

    def test_to_standard_output(self, capsysbinary):
        output.check_destination("-")
        output.save(b"{}\n", "-")
        assert capsysbinary.readouterr().out == b"{}\n"

    def test_a_bad_place_is_wrong_usage(self, tmp_path):
        path = str(tmp_path / "no" / "report.json")
        with pytest.raises(GradeError, match="does not exist") as caught:
            output.check_destination(path)
        assert caught.value.exit_code == 2
        with pytest.raises(GradeError, match="does not exist"):
            output.save(b"{}", path)

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_a_full_disk_is_not_the_users_mistake(self):
        with pytest.raises(InfrastructureError, match="cannot write /dev/full: No space left"):
            output.save(b"{}", "/dev/full")
