"""What a worker may read: the code it needs, and nothing of the grader's or of a course."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import grader
from grader.confinement import readable
from grader.confinement.readable import Readable, code_paths

OWN = Path(grader.__file__).parent


def test_the_library_and_packages_are_there():
    import numpy
    import torch

    paths = code_paths()
    assert all(paths.covers(Path(module.__file__)) for module in (os, torch, numpy, pytest))


def test_the_grader_and_its_surroundings_are_not():
    paths = code_paths()
    assert not any(paths.covers(path) for path in (OWN, OWN / "session", Path.home(), Path("/etc")))


@pytest.fixture
def packages(tmp_path, monkeypatch) -> Path:
    """A folder of packages in which the grader itself is installed."""
    folder = tmp_path / "site-packages"
    for name in ("grader", "einops", "torch_extras"):
        (folder / name / "inner").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    own = str(folder / "grader" / "sandbox" / "readable.py")
    monkeypatch.setattr(readable, "__file__", own)
    return folder


def test_beside_the_grader_every_package_is_given_by_itself(packages):
    paths = code_paths()
    assert {str(packages / "einops"), str(packages / "torch_extras")} <= set(paths.files)
    assert not {str(packages), str(packages / "grader")} & set(paths.files)
    assert str(packages) in paths.names


def test_a_link_does_not_hide_the_grader(packages):
    (packages / "alias").symlink_to(packages / "grader")
    assert str(packages / "alias") not in code_paths().files


def test_a_folder_that_a_pth_file_adds_is_not_given(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "course")])
    (tmp_path / "course").mkdir()
    assert not code_paths().covers(tmp_path / "course")


def test_covers_what_lies_below_and_through_links(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "inside-not"
    inside.mkdir()
    outside.mkdir()
    (outside / "link").symlink_to(inside)
    paths = Readable(files=[str(inside)], names=[])
    assert paths.covers(inside / "deep" / "file")
    assert paths.covers(outside / "link" / "file")
    assert not paths.covers(outside / "file")
    assert not paths.covers(tmp_path)
