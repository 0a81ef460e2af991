"""What is forked often lies in huge pages, where the kernel has them."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import re
from grader.processes import huge_pages

held = bytearray(64 * 1024 * 1024)
for place in range(0, len(held), 4096):
    held[place] = place // 4096 % 251
before = bytes(held)
huge_pages.collapse()
assert held == before
rollup = open("/proc/self/smaps_rollup").read()
print(re.search("AnonHugePages: *([0-9]+)", rollup)[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux moves memory into huge pages")
def test_memory_is_moved_and_stays_as_it_was():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if done.stdout == "0\n":
        pytest.skip("this kernel does not collapse memory (Linux 6.1 and later do)")
    assert int(done.stdout) >= 32 * 1024
