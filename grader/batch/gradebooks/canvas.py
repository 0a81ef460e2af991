"""Canvas's gradebook: the export is filled in and imported."""

from __future__ import annotations

import re

from grader.batch.gradebooks.gradebook import Gradebook

CANVAS = Gradebook(
    name="canvas",
    roster='the CSV of "Export" in the gradebook, with your language set to English',
    identity=("Student", "ID", "SIS User ID", "SIS Login ID", "Section"),
    needed=(("Student",), ("ID",)),
    ids={"canvas": ("ID",), "gradescope": ("SIS User ID",)},
    logins=("SIS Login ID",),
    emails=("SIS Login ID",),
    names=(("Student",),),
    # "Homework 1 (123456)" is the assignment 123456; a title alone makes a new one.
    item=re.compile(r"(?P<title>.*) \(\d+\)"),
    possible="    Points Possible",
    no_people=re.compile(r"\s*Points Possible\s*|Student, Test|Test, Student|\s*", re.IGNORECASE),
)
