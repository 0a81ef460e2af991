"""Moodle: "Import: CSV file" of the grades, where one says which column names the student."""

from __future__ import annotations

from grader.batch.gradebooks.gradebook import Gradebook

MOODLE = Gradebook(
    name="moodle",
    roster="the CSV of the participants, or of the grades' export",
    identity=(
        "First name",
        "Last name",
        "Surname",
        "Full name",
        "ID number",
        "Username",
        "Email address",
    ),
    needed=("Email address",),
    identifiers=("ID number", "Username", "Email address"),
    names=(("Full name",), ("First name", "Last name"), ("First name", "Surname")),
)
