"""What an attack may try to touch, all of it made by the test, which fills in the places."""

import ctypes
import os
import time

COURSE = NEIGHBOUR = FOLDER = TOKEN = SECRET = ""
PORT = LIMIT = 0
CANARY_HALVES = (b"", b"")
# -- filled in here


def harm(what, *found):
    print("HARM", what, *(str(thing)[:80] for thing in found), flush=True)


def attempt(what, action):
    """Do something that has to be refused."""
    try:
        found = action()
    except BaseException as error:
        print("refused", what, type(error).__name__, flush=True)
    else:
        harm(what, found)


def libc(name, *arguments):
    """Call a function of the C library; raises OSError."""
    given = [ctypes.c_long(one) if type(one) is int else one for one in arguments]
    result = getattr(ctypes.CDLL(None, use_errno=True), name)(*given)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def survive():
    """Stay for a few seconds after the process that was graded."""
    time.sleep(5)
    os._exit(0)
