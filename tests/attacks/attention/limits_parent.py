"""Starves the processes around it: limits, priorities, affinity and clocks of others and itself."""

import os
import resource
import time

from honest import scaled_dot_product_attention
from targets import attempt

PARENT = os.getppid()
attempt("limits", lambda: resource.prlimit(PARENT, resource.RLIMIT_NOFILE, (0, 0)))
attempt("read limits", lambda: resource.prlimit(PARENT, resource.RLIMIT_NOFILE))
attempt("own limits", lambda: resource.setrlimit(resource.RLIMIT_CPU, (-1, -1)))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, PARENT, 19))
attempt("nicer", lambda: os.nice(-5))
attempt("affinity", lambda: os.sched_setaffinity(PARENT, {0}))
attempt("scheduler", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(9)))
attempt("clock", lambda: time.clock_settime(time.CLOCK_REALTIME, 0))
