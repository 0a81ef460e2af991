"""A small course on disk."""

from pathlib import Path

import pytest

from grader.course.loading import load_course
from grader.course.model import Assignment

ATTENTION = """\
title = "Scaled dot-product attention"
forbidden = ["torch.nn.functional.scaled_dot_product_attention"]

[exports.attend]
arguments = ["query", "key", "value"]
options = ["mask"]
returns = ["output", "weights"]
"""
MASKS = """\
title = "Masks"

[exports.causal_mask]
arguments = ["query_length"]

[exports.padding_mask]
arguments = ["lengths", "max_length"]
"""


@pytest.fixture
def course_folder(tmp_path: Path) -> Path:
    root = tmp_path / "course"
    for id, text in (("attention", ATTENTION), ("masks", MASKS)):
        folder = root / "assignments" / id
        folder.mkdir(parents=True)
        (folder / "assignment.toml").write_text(text)
        (folder / "test_public.py").write_text("")
    (root / "assignments" / "course.toml").write_text('title = "Attention, by hand"\n')
    return root


@pytest.fixture
def attention(course_folder: Path) -> Assignment:
    return load_course(course_folder).assignments["attention"]


@pytest.fixture
def masks(course_folder: Path) -> Assignment:
    return load_course(course_folder).assignments["masks"]


@pytest.fixture
def handed_in(tmp_path: Path) -> Path:
    folder = tmp_path / "handed-in"
    folder.mkdir()
    return folder
