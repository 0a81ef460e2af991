"""Releases that are written again and again, over nothing but their own files."""

from __future__ import annotations

import pytest

from grader.integrations.errors import ReleaseError
from grader.integrations.folder import MANIFEST, write

FILES = {"README.md": b"read me", "assignments/scale/scale.py": b"stub", "run": b"#!/bin/sh\n"}


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_files_are_written(tmp_path):
    write(tmp_path / "new/folder", FILES)
    found = contents(tmp_path / "new/folder")
    assert found.pop(MANIFEST)
    assert found == FILES
    assert (tmp_path / "new/folder/run").stat().st_mode & 0o100


def test_a_second_release_brings_it_up_to_date(tmp_path):
    write(tmp_path, FILES)
    (tmp_path / "notes.txt").write_bytes(b"mine")
    write(tmp_path, {"README.md": b"new"})
    found = contents(tmp_path)
    assert found.pop(MANIFEST)
    assert found == {"README.md": b"new", "notes.txt": b"mine"}


@pytest.mark.parametrize("name", ["README.md", "assignments/scale/scale.py"])
def test_what_is_not_its_own_is_not_overwritten(tmp_path, name):
    mine = tmp_path / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine")
    with pytest.raises(ReleaseError, match="is not part of a release"):
        write(tmp_path, FILES)
    assert contents(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("files", [FILES, {"run": b"#!/bin/sh\n"}])
def test_what_was_changed_since_is_neither_overwritten_nor_taken_away(tmp_path, files):
    write(tmp_path, FILES)
    (tmp_path / "README.md").write_text("changed")
    before = contents(tmp_path)
    with pytest.raises(ReleaseError, match="was changed since it was released"):
        write(tmp_path, files)
    assert contents(tmp_path) == before


def test_links_are_not_followed_out_of_the_folder(tmp_path):
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    folder.mkdir()
    (folder / "assignments").symlink_to(outside)
    with pytest.raises(ReleaseError, match="is a symbolic link"):
        write(folder, FILES)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["../victim", "/etc/victim", "a/../../victim"])
def test_a_manifest_cannot_name_files_elsewhere(tmp_path, name):
    folder = tmp_path / "folder"
    (folder / MANIFEST).parent.mkdir(parents=True)
    (folder / MANIFEST).write_text(f'{{"files": {{"{name}": "00"}}}}')
    (tmp_path / "victim").write_text("x")
    with pytest.raises(ReleaseError, match="outside the folder"):
        write(folder, FILES)
    assert (tmp_path / "victim").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", "\x00"])
def test_a_manifest_that_cannot_be_read_is_said(tmp_path, text):
    (tmp_path / MANIFEST).parent.mkdir(parents=True)
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(ReleaseError, match="cannot be read"):
        write(tmp_path, FILES)


def test_folders_and_files_in_the_way_are_said(tmp_path):
    (tmp_path / "README.md").mkdir()
    with pytest.raises(ReleaseError, match=r"README\.md: is a folder"):
        write(tmp_path, FILES)
    (tmp_path / "assignments").write_text("a file")
    with pytest.raises(ReleaseError, match="assignments: is no folder"):
        write(tmp_path, {"assignments/a": b""})


def test_a_folder_with_other_things_in_it_is_not_released_to(tmp_path):
    (tmp_path / "Ann Lee.py").write_text("handed in")
    with pytest.raises(ReleaseError, match="holds 'Ann Lee\\.py'"):
        write(tmp_path, FILES)
    assert [path.name for path in tmp_path.iterdir()] == ["Ann Lee.py"]


def test_a_new_repository_is_released_to(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "LICENSE").write_text("MIT")
    write(tmp_path, FILES)
    (tmp_path / "notes.txt").write_text("added later")
    write(tmp_path, FILES)
    assert (tmp_path / "notes.txt").read_text() == "added later"
