"""Hooks imports, audits, traces and warnings, waiting for something of the grader's to pass."""

import builtins
import sys
import threading
import warnings

import honest

SEEN = set()


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        SEEN.add(name)


def trace(frame, event, argument):
    if "hidden" in frame.f_code.co_filename or "solutions" in frame.f_code.co_filename:
        print("HARM", frame.f_code.co_filename)
    return trace


sys.meta_path.insert(0, Finder)
sys.addaudithook(lambda event, given: SEEN.add(event))
sys.settrace(trace)
threading.settrace(trace)
warnings.showwarning = lambda *given: None
builtins.__import__ = lambda *given, real=builtins.__import__: real(*given)


def scaled_dot_product_attention(query, key, value, mask=None):
    print("tried", sorted(name for name in SEEN if "test_" in name or "solution" in name))
    return honest.scaled_dot_product_attention(query, key, value, mask)
