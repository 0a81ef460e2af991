"""Calls home over the loopback interface, in every way that Python and torch offer."""

import socket
import urllib.request

import torch
from honest import scaled_dot_product_attention
from targets import PORT, attempt

attempt("tcp", lambda: socket.create_connection(("127.0.0.1", PORT), timeout=2))
attempt("http", lambda: urllib.request.urlopen(f"http://127.0.0.1:{PORT}", timeout=2))
attempt("udp", lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", PORT)))
attempt("listen", lambda: socket.create_server(("127.0.0.1", 0)))
attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect("\0bus"))
attempt("raw", lambda: socket.socket(type=socket.SOCK_RAW))
attempt("pair", lambda: socket.socketpair())
attempt(
    "name",
    lambda: (
        socket.getaddrinfo("localhost", PORT, flags=socket.AI_NUMERICSERV)[0]
        and socket.create_connection(("localhost", PORT), 2)
    ),
)
attempt("store", lambda: torch._C._distributed_c10d.TCPStore("127.0.0.1", 0, 1, True))
