"""Raises SystemExit(0) in calls and while it is imported."""

import sys

try:
    sys.exit(0)
except SystemExit:
    print("tried")


def scaled_dot_product_attention(query, key, value, mask=None):
    sys.exit(0)
