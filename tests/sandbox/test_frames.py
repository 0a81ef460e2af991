"""Frames: lengths capped before memory is taken, and only what is well formed gets through."""

import io
import os
import socket
import struct
import threading
import time
import tracemalloc

import msgspec
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.wire import frames
from grader.wire.errors import ProtocolError
from grader.wire.messages import (
    Entries,
    Gradients,
    Handle,
    Items,
    Module,
    Parameter,
    Plain,
    Raised,
    Reply,
    Returned,
    TensorRef,
)
from grader.wire.tensors import Packer, unpack

decoder = msgspec.msgpack.Decoder(Reply)
encode = msgspec.msgpack.encode


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def receive_bytes(data: bytes):
    """What a frame decodes to whose bytes are ``data``, and then the stream ends."""
    stream = io.BytesIO(data)

    def fill(buffer):
        if stream.readinto(buffer) < len(buffer):
            raise EOFError

    return frames.receive(None, decoder, fill)


def frame(body: bytes, blob: bytes = b"") -> bytes:
    return struct.pack("<II", len(body), len(blob)) + body + blob


def example_frame() -> bytes:
    packer = Packer()
    packer.add(torch.arange(6.0).reshape(2, 3))
    value = Items(kind="tuple", items=[TensorRef(index=0), Entries(items={"a": Plain(value=1)})])
    module = Module(
        parameters=[Parameter(name="W.weight", shape=[2, 3], dtype="float32")],
        buffers=[],
        submodules=["W"],
    )
    reply = Returned(value=value, call=1, module=module, tensors=packer.specs)
    return frame(encode(reply), bytes(packer.blob))


class TestExchange:
    def test_round_trip(self, ends):
        ours, theirs = ends
        reply = Returned(value=Handle(id=3, type="KVCache"), call=7, changed={0: 1})
        frames.send(ours, reply, b"tensors")
        assert frames.receive(theirs, decoder) == (reply, b"tensors")

    def test_a_stream_that_ends(self, ends):
        ours, theirs = ends
        ours.send(example_frame()[:-1])
        ours.close()
        with pytest.raises(EOFError):
            frames.receive(theirs, decoder)

    @pytest.mark.parametrize(
        ("message", "blob"),
        [
            (Plain(value="x" * (frames.MAX_MESSAGE + 1)), b""),
            (Plain(value=None), bytearray(frames.MAX_BLOB + 1)),
        ],
        ids=["message", "blob"],
    )
    def test_what_would_be_refused_is_not_sent(self, ends, message, blob):
        ours, theirs = ends
        with pytest.raises(frames.TooLarge):
            frames.send(ours, message, blob)
        ours.close()
        assert theirs.recv(1) == b""


class TestHostileBytes:
    @pytest.mark.parametrize(
        "lengths",
        [(frames.MAX_MESSAGE + 1, 0), (0, frames.MAX_BLOB + 1), (2**32 - 1, 2**32 - 1)],
    )
    def test_lengths_are_refused_before_memory_is_taken(self, lengths):
        tracemalloc.start()
        try:
            with pytest.raises(ProtocolError, match="larger"):
                receive_bytes(struct.pack("<II", *lengths))
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize(
        "body",
        [
            b"\xdd\xff\xff\xff\xff",
            b"\x82\xa2is\xa8Returned\xa7tensors\xdd\xff\xff\xff\xff",
            b"\x82\xa2is\xa8Returned\xa7changed\xdf\xff\xff\xff\xff",
            b"\x82\xa2is\xa6Raised\xa7message\xdb\xff\xff\xff\xff",
        ],
    )
    def test_lengths_inside_a_message_take_no_memory(self, body):
        tracemalloc.start()
        try:
            with pytest.raises(ProtocolError):
                frames.decode(decoder, body)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()

    def test_a_message_nested_too_deeply(self):
        level = b"\x83\xa2is\xa5Items\xa4kind\xa4list\xa5items\x91"
        with pytest.raises(ProtocolError):
            frames.decode(decoder, level * (frames.MAX_MESSAGE // len(level)))

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            encode({"is": "Unheard"}),
            encode({"is": "Done", "extra": 1}),
            encode({"is": "Done"}) + b"\x00",
            encode({"is": "Load", "path": "/", "module": "m", "exports": []}),
            encode({"is": "Returned", "value": {"is": "Plain", "value": [1]}, "call": 1}),
            encode({"is": "Returned", "value": {"is": "Plain", "value": 1}, "call": "1"}),
            encode({"is": "Raised", "kind": "raised", "type": "E", "bases": [], "message": 1}),
            b"\x82\xa2is\xa6Raised\xa7message\xa2\xff\xfe",
        ],
    )
    def test_what_is_no_reply(self, body):
        with pytest.raises(ProtocolError):
            receive_bytes(frame(body))

    @given(st.binary(max_size=200))
    @example(b"")
    def test_noise(self, data):
        with pytest.raises((EOFError, ProtocolError)):
            receive_bytes(data)

    @given(st.data())
    @settings(max_examples=500)
    def test_a_good_frame_with_some_bytes_changed(self, data):
        changed = bytearray(example_frame())
        for _ in range(data.draw(st.integers(1, 6))):
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
        try:
            reply, blob = receive_bytes(bytes(changed))
            unpack(getattr(reply, "tensors", []), blob)
        except (EOFError, ProtocolError):
            pass

    @given(
        st.fixed_dictionaries(
            {"is": st.sampled_from([c.__name__ for c in (Returned, Gradients, Raised)])},
            optional={
                name: st.recursive(
                    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
                    lambda inner: (
                        st.lists(inner, max_size=3)
                        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
                    ),
                    max_leaves=8,
                )
                for name in ("value", "call", "tensors", "changed", "module", "type", "bases")
            },
        )
    )
    @settings(max_examples=300)
    def test_messages_of_the_wrong_form(self, fields):
        try:
            body = encode(fields)
        except OverflowError:  # a number that not even the encoding can hold
            return
        with pytest.raises(ProtocolError):
            receive_bytes(frame(body))


class TestDeadline:
    @pytest.fixture
    def reader(self, ends):
        ours, _ = ends
        ours.setblocking(False)
        drain, write = os.pipe()
        self.output = write
        self.drained = 0

        def on_output() -> bool:
            data = os.read(drain, 1 << 16)
            self.drained += len(data)
            return bool(data)

        reader = frames.DeadlineReader(ours, drain, on_output)
        yield reader
        reader.close()
        os.close(drain)
        if self.output >= 0:
            os.close(self.output)

    def test_bytes_that_drip_do_not_move_it(self, reader, ends):
        _, theirs = ends
        theirs.send(b"\x01")
        reader.deadline = time.monotonic() + 0.05
        with pytest.raises(TimeoutError):
            reader.fill(memoryview(bytearray(8)))

    def test_in_the_past(self, reader, ends):
        ends[1].send(bytes(8))
        reader.deadline = time.monotonic() - 1
        with pytest.raises(TimeoutError):
            reader.fill(memoryview(bytearray(8)))
        with pytest.raises(TimeoutError):
            reader.send(b"request")

    def test_what_is_printed_is_read_while_waiting(self, reader, ends):
        """More than the pipe holds, so that the answer could not be sent otherwise."""

        def print_and_answer() -> None:
            written = 0
            while written < 1 << 20:
                written += os.write(self.output, bytes(1 << 16))
            os.close(self.output)
            ends[1].send(b"1234")
            ends[1].send(b"5678")

        worker = threading.Thread(target=print_and_answer)
        worker.start()
        buffer = bytearray(8)
        reader.deadline = time.monotonic() + 60
        reader.fill(memoryview(buffer))
        worker.join()
        self.output = -1
        assert bytes(buffer) == b"12345678"
        assert self.drained > (1 << 20) - (1 << 17)

    def test_a_reader_who_does_not_read(self, reader):
        reader.deadline = time.monotonic() + 0.05
        with pytest.raises(TimeoutError):
            reader.send(bytes(16 << 20))
