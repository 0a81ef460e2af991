"""Looks around for the course: lists its folders, and those above its own."""

import os

from honest import scaled_dot_product_attention
from targets import COURSE, attempt

for folder in (COURSE, f"{COURSE}/tests/hidden", f"{COURSE}/solutions", "..", "../..", "/tmp", "/"):
    attempt(folder, lambda: os.listdir(folder))
