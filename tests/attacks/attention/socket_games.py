"""Uses the harness's own socket: shuts it down, sends descriptors, sets its options."""

import os
import socket

import honest
from targets import attempt

SOCK = socket.socket(fileno=os.dup(3))
attempt("descriptors", lambda: socket.send_fds(SOCK, [b""], [0]))
attempt("receive", lambda: socket.recv_fds(SOCK, 1, 1, socket.MSG_DONTWAIT))
attempt("options", lambda: SOCK.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1))
SOCK.setblocking(False)


def scaled_dot_product_attention(query, key, value, mask=None):
    result = honest.scaled_dot_product_attention(query, key, value, mask)
    if mask is not None:
        SOCK.shutdown(socket.SHUT_RDWR)
    return result
