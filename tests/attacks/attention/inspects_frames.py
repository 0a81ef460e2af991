"""Walks up the frames of a call and prints every name and file that it finds there."""

import sys

import honest


def scaled_dot_product_attention(query, key, value, mask=None):
    frame = sys._getframe()
    while frame is not None:
        print("tried", frame.f_code.co_filename, frame.f_code.co_name)
        for name, found in frame.f_locals.items():
            if name in ("expected", "wanted", "wanted_output", "reference", "test", "item"):
                print("HARM", name, str(found)[:100])
        if "hidden" in frame.f_code.co_filename:
            print("HARM", frame.f_code.co_filename)
        frame = frame.f_back
    return honest.scaled_dot_product_attention(query, key, value, mask)
