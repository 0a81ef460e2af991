"""Reports to bytes and back, and on to a real disk."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from grader.report import files, safe
from grader.report.files import ReportError

from . import samples


class TestEncoding:
    @pytest.mark.parametrize("name", sorted(set(samples.everything()) - {"hostile"}))
    def test_what_is_written_can_be_read(self, name):
        report = samples.everything()[name]
        assert files.decode(files.encode(report)) == report

    def test_it_is_indented_utf8_that_any_parser_reads(self):
        data = files.encode(samples.report(message="é 注意"))
        assert data.startswith(b'{\n  "type": "report"')
        assert data.endswith(b"}\n")
        assert "é 注意".encode() in data
        assert json.loads(data)["message"] == "é 注意"

    def test_lone_surrogates_become_their_escapes(self):
        report = samples.report(message="a\ud800b\udcff", notes=["\udfff"])
        data = files.encode(report)
        data.decode("utf-8")
        decoded = files.decode(data)
        assert (decoded.message, decoded.notes) == ("a\\ud800b\\udcff", ["\\udfff"])

    def test_hostile_strings_survive_as_strings(self):
        report = samples.hostile()
        once = files.decode(files.encode(report))
        assert once.checks[0].title == report.checks[0].title.replace("\ud800", "\\ud800")
        assert files.decode(files.encode(once)) == once

    def test_hostile_strings_are_harmless_where_the_file_is_printed(self):
        text = files.encode(samples.hostile()).decode()
        for line in text.splitlines():
            assert line == safe.guard(safe.escape(line))

    def test_numbers_that_json_lacks(self):
        evidence = samples.Evidence(
            demonstration="d", name="n", yours=[float("nan")], expected=[float("inf")]
        )
        check = samples.check("a", samples.Status.FAILED, evidence=[evidence])
        report = samples.report([check])
        assert files.decode(files.encode(report)) == report


class TestDecoding:
    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"", "not JSON: the file is empty"),
            (b"  \n", "not JSON: the file is empty"),
            (b"hello", "not JSON"),
            (b"{", "not JSON"),
            (b'{"type": "\xff"}', "not JSON"),
            (b"[1]", "not a report"),
            (b"{}", "not a report"),
            (b'{"type": "report"}', "schema_version"),
            (b'{"type": "junit", "schema_version": 1}', "its type is 'junit'"),
            (b'{"type": "report", "schema_version": 2}', "schema version 2; this .* version 1"),
            (b'{"type": "report", "schema_version": 1}', "not a report"),
            (b"[" * 100_000, "not"),
            (b'{"a":' * 100_000, "not"),
        ],
    )
    def test_what_is_no_report_is_refused_with_a_reason(self, data, said):
        with pytest.raises(ReportError, match=said):
            files.decode(data)

    def test_the_place_of_a_mistake_is_named(self):
        data = json.loads(files.encode(samples.full_marks()))
        data["checks"][1]["points"] = "many"
        with pytest.raises(ReportError, match=r"int.*checks\[1\]\.points"):
            files.decode(json.dumps(data).encode())

    def test_evidence_that_is_nested_too_deeply(self):
        data = files.encode(samples.softmax_over_queries())
        nested = b'"yours": ' + b"[" * 50_000 + b"]" * 50_000 + b', "was":'
        with pytest.raises(ReportError, match="nested"):
            files.decode(data.replace(b'"yours":', nested))

    def test_a_byte_order_mark_and_unknown_fields_are_no_trouble(self):
        report = samples.full_marks()
        data = files.encode(report).replace(b"{", b'{"added-later": 1,', 1)
        assert files.decode(b"\xef\xbb\xbf" + data) == report


class TestWriting:
    def test_a_new_file(self, tmp_path):
        path = tmp_path / "report.json"
        files.write_atomically(path, b"new")
        assert path.read_bytes() == b"new"
        assert os.listdir(tmp_path) == ["report.json"]

    def test_a_new_file_follows_the_umask(self, tmp_path):
        before = os.umask(0o027)
        try:
            files.write_atomically(tmp_path / "report.json", b"new")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == 0o640

    def test_a_path_as_text_in_the_current_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        files.write_atomically("report.json", b"new")
        assert Path("report.json").read_bytes() == b"new"

    def test_an_existing_file_keeps_its_mode(self, tmp_path):
        path = tmp_path / "report.json"
        path.write_bytes(b"old")
        path.chmod(0o604)
        files.write_atomically(path, b"new")
        assert path.read_bytes() == b"new"
        assert stat.S_IMODE(path.stat().st_mode) == 0o604

    def test_a_name_as_long_as_a_name_can_be(self, tmp_path):
        path = tmp_path / ("r" * 255)
        files.write_atomically(path, b"new")
        assert path.read_bytes() == b"new"

    def test_an_existing_report_survives_a_write_that_fails(self, tmp_path):
        """The system refuses half way: files may grow to 4 KiB, and the report is larger."""
        path = tmp_path / "report.json"
        path.write_bytes(b"old")
        program = (
            "import resource, sys\n"
            "from grader.report import files\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            "try:\n"
            "    files.write_atomically(sys.argv[1], b'x' * 10_000)\n"
            "except OSError as error:\n"
            "    print(error.strerror)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "File too large"
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["report.json"]

    def test_an_interrupt_leaves_nothing_behind(self, tmp_path, monkeypatch):
        path = tmp_path / "report.json"
        path.write_bytes(b"old")

        def interrupt(_: int) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            files.write_atomically(path, b"new")
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["report.json"]

    @pytest.mark.parametrize("function", [files.check_destination, files.write_atomically])
    class TestRefusals:
        def refuse(self, function, path, said):
            arguments = (b"new",) if function is files.write_atomically else ()
            with pytest.raises(ReportError, match=said) as caught:
                function(path, *arguments)
            assert str(path) in str(caught.value)

        def test_a_missing_folder(self, function, tmp_path):
            self.refuse(function, tmp_path / "no" / "report.json", r"/no does not exist")

        def test_a_file_for_a_folder(self, function, tmp_path):
            (tmp_path / "file").touch()
            self.refuse(function, tmp_path / "file" / "report.json", "not a folder|Not a directory")

        def test_a_folder(self, function, tmp_path):
            self.refuse(function, tmp_path, "it is a folder")

        def test_a_link(self, function, tmp_path):
            target = tmp_path / "target"
            target.write_bytes(b"old")
            link = tmp_path / "report.json"
            link.symlink_to(target)
            self.refuse(function, link, "symbolic link")
            assert target.read_bytes() == b"old"

        def test_a_name_that_is_too_long(self, function, tmp_path):
            self.refuse(function, tmp_path / ("r" * 300), "File name too long")

    def test_no_permission(self):
        """In a process of its own, which gives up being root if it is."""
        program = (
            "import os, sys\n"
            "from grader.report import files\n"
            "if os.geteuid() == 0:\n"
            "    os.setgid(65534)\n"
            "    os.setuid(65534)\n"
            "for path in sys.argv[1:]:\n"
            "    try:\n"
            "        files.write_atomically(path, b'new')\n"
            "    except files.ReportError as error:\n"
            "        print(error)\n"
        )
        # Not tmp_path: its parents are closed to other users.
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            (folder / "locked").mkdir(mode=0o555)
            kept = folder / "kept.json"
            kept.write_bytes(b"old")
            kept.chmod(0o444)
            paths = [str(folder / "locked" / "report.json"), str(kept)]
            done = subprocess.run(
                [sys.executable, "-c", program, *paths], capture_output=True, text=True, check=True
            )
            assert done.stdout.splitlines() == [
                f"cannot write {paths[0]}: no permission to write in {folder / 'locked'}",
                f"cannot write {paths[1]}: no permission to change the file",
            ]
            assert kept.read_bytes() == b"old"

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_devices_are_written_to_and_stay_devices(self):
        files.write_atomically(os.devnull, b"new")
        assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
        with pytest.raises(OSError, match="No space left"):
            files.write_atomically("/dev/full", b"new")
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_encoding_does_not_change_the_report():
    report = samples.hostile()
    copy = msgspec.convert(msgspec.to_builtins(report), type=type(report))
    files.encode(report)
    assert report == copy
