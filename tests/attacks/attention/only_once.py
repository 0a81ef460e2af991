"""Can be imported once; every later worker finds it broken, if it can leave itself a sign."""

import os

import honest
from targets import TOKEN

PLACE = f"/tmp/{TOKEN}-once"
try:
    os.close(os.open(PLACE, os.O_CREAT | os.O_EXCL))
except FileExistsError:
    print("HARM there is a sign")
except OSError:
    print("refused a sign")
scaled_dot_product_attention = honest.scaled_dot_product_attention
