"""Runs other programs by every way of the standard library."""

import multiprocessing
import os
import subprocess
import sys

from honest import scaled_dot_product_attention
from targets import attempt, harm

attempt("run", lambda: subprocess.run(["/bin/true"], check=True))
attempt("python", lambda: subprocess.run([sys.executable, "-c", ""], check=True))
attempt("spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
attempt("popen", lambda: os.popen("true").read())
if os.system("true") == 0:
    harm("system")
for method in ("fork", "spawn", "forkserver"):
    attempt(method, lambda: multiprocessing.get_context(method).Process(target=print).start())
attempt("exec", lambda: os.execv("/bin/echo", ["echo", "HARM"]))
