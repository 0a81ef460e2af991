"""Blackboard's "Work offline": the download is filled in and uploaded."""

from __future__ import annotations

import re

from grader.batch.gradebooks.gradebook import Gradebook

BLACKBOARD = Gradebook(
    name="blackboard",
    roster='the file of "Work offline: Download", with your language set to English',
    identity=("Last Name", "First Name", "Username", "Student ID"),
    needed=(("Username",),),
    ids={"blackboard": ("Username",), "gradescope": ("Student ID",)},
    logins=("Username",),
    emails=("Username",),
    names=(("First Name", "Last Name"),),
    # "Homework 1 [Total Pts: 10 Score] |123456" is the column 123456.
    item=re.compile(r"(?P<title>.*?) \[Total Pts: (?P<possible>.*?)(?: \w+)?\] ?\|\d+"),
)
