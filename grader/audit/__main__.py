"""The process that audits: imports torch, then answers.

Started as ``python -I -m grader.audit JOB``, with a ``Job`` in JSON.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import torch

from grader.audit.client import Job
from grader.audit.measure import audit
from grader.course.loading import course_assignment, load_course
from grader.course.model import CourseError
from grader.processes.lines import Answers
from grader.session.errors import GraderFault
from grader.worker.serving import warm_up


def main() -> None:
    """Audit what the argument says."""
    job = msgspec.json.decode(sys.argv[1], type=Job)
    answers = Answers()
    torch.set_num_threads(1)
    warm_up()
    try:
        course = load_course(Path(os.fsdecode(job.course)))
        for name in job.assignments:
            assignment = course_assignment(course, name)
            answers.result(
                audit(assignment, seeds=job.seeds, most_pairs=job.most_pairs, say=answers.step)
            )
    except (CourseError, GraderFault, ModuleNotFoundError) as error:
        answers.failed(error)


if __name__ == "__main__":
    main()
