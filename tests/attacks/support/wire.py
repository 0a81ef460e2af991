"""The harness's own frames, made by hand and written straight to its descriptor."""

import os
import struct
import time

import msgspec

LENGTHS = struct.Struct("<II")


def raw(data):
    while data:
        data = data[os.write(3, data) :]


def send(message, blob=b""):
    body = msgspec.msgpack.encode(message)
    raw(LENGTHS.pack(len(body), len(blob)) + body + blob)


def send_pair(output, weights, changed=None):
    """Send what a call that returned these two tensors would be answered with."""
    tensors = [output, weights, *(changed or {}).values()]
    specs, blob = [], b""
    for tensor in tensors:
        data = bytes(0) if tensor.is_meta else tensor.detach().contiguous().numpy().tobytes()
        name = str(tensor.dtype).removeprefix("torch.")
        specs.append([name, list(tensor.shape), len(data), [], tensor.device.type])
        blob += data
    items = [{"is": "TensorRef", "index": index} for index in range(2)]
    send(
        {
            "is": "Returned",
            "value": {"is": "Items", "kind": "tuple", "items": items},
            "call": 1,
            "changed": {index: place for place, index in enumerate(changed or {}, 2)},
            "tensors": specs,
        },
        blob,
    )


def end():
    """Wait to be killed: what was sent would be lost if the process ended first."""
    time.sleep(0.05)
    os._exit(0)
