"""What a worker's replies say of the submission, beside what was asked.

All of it can be forged, and chosen by hidden inputs: only so much is kept as an honest worker says,
and nothing that could carry such an input out.
"""

from __future__ import annotations

from grader.diagnosis.torch_words import without_sizes
from grader.execution import families
from grader.execution.torch_without_dynamo import COMPILERS
from grader.session.errors import student_error
from grader.session.student.file_words import UNCOMPILED
from grader.wire.commands import FromWorker
from grader.wire.messages import ForbiddenUse, Raised

MOST_ERRORS = 8
"""Of different errors on public inputs, how many are remembered."""


class Noted:
    """Kept for a whole submission, whichever of its workers says it."""

    def __init__(self, forbidden: list[str]) -> None:
        self._forbidden = forbidden
        self._met: set[tuple[object, ...]] = set()
        self.sees_hidden = False
        """Whether hidden checks have begun, of whose inputs nothing may get out."""
        self.uses: list[ForbiddenUse] = []
        """Of what the assignment forbids."""
        self.raised_in_public: list[Raised] = []
        """What the student's code raised on inputs that anybody may see, each once."""
        self.notes: list[str] = []

    def note(self, reply: FromWorker) -> None:
        """Keep what a reply in a check says."""
        self.note_what_ran(reply)
        if isinstance(reply, Raised) and not self.sees_hidden:
            self._keep(reply)

    def note_what_ran(self, reply: FromWorker) -> None:
        """Keep what a reply says has run. A name is kept once, and only one that was asked for.

        What has run instead of it is kept if it is known to do the same job.
        """
        kept = {use.name for use in self.uses}
        for entry, ran in reply.tripped.items():
            if entry not in self._forbidden or entry in kept:
                continue
            # Which of a family's members ran can be chosen by hidden inputs; that one did is a bit.
            known = not self.sees_hidden and ran in families.names()
            self.uses.append(ForbiddenUse(name=entry, by=ran if known and ran != entry else ""))
        # Not which: code that saw hidden inputs could choose one by them.
        if UNCOMPILED not in self.notes and any(name in COMPILERS for name in reply.skipped):
            self.notes.append(UNCOMPILED)

    def _keep(self, raised: Raised) -> None:
        """Remember an error, unless the same was met, and no more than an honest answer needs.

        How many there are to choose from is what a hidden check can tell by raising one of them.
        """
        raised = student_error(raised).raised
        line = (raised.frame.file, raised.frame.line) if raised.frame else ()
        same = raised.kind, raised.type, line, without_sizes(raised.message)
        if same not in self._met and len(self._met) < MOST_ERRORS:
            self._met.add(same)
            self.raised_in_public.append(raised)
