#!/usr/bin/env python3
"""A complete external transport for `headwater run --transport-cmd`, in the standard library alone.

It moves the messages over a Unix stream socket. docs/external-transports.md explains every line that it speaks.
"""

import json
import os
import queue
import resource
import socket
import sys
import threading
import time

DESCRIPTION = {
    "op": "description",
    "protocol": 1,
    "name": "py-socket",
    "version": sys.version.split()[0],
    "summary": "Unix stream socket from a loop in Python",
    "patterns": ["stream", "rtt"],
    "blocking": "sleeps in send and recv",
}


# The payload.


def stamp(sequence):
    spread = (sequence + 1) * 0x9E3779B97F4A7C15 & 0xFFFF_FFFF_FFFF_FFFF
    return (spread ^ spread >> 32).to_bytes(8, "little")


def positions(size):
    """The offsets of the stamps in a message of at least 8 bytes."""
    return [0] if size < 16 else [0, *range(4096, size - 15, 4096), size - 8]


class Payload:
    def __init__(self, size):
        self.background = bytes(position % 251 for position in range(size))
        self.poison = bytes(0xFF - byte for byte in self.background)
        self.outgoing = bytearray(self.background)
        self.incoming = bytearray(size)
        self.size = size
        self.positions = positions(size)

    def message(self, sequence):
        """Returns message `sequence`, ready to be sent."""
        mark = stamp(sequence)
        for position in self.positions:
            self.outgoing[position:position + 8] = mark[:self.size]
        return self.outgoing

    def verify(self, sequence, full):
        """Checks the stamps of the received bytes, or every byte."""
        mark = stamp(sequence)[:self.size]
        right = all(self.incoming[position:position + 8] == mark for position in self.positions)
        if not right or full and self.incoming != self.message(sequence):
            raise ValueError(f"wrong payload: message {sequence} of {self.size} bytes starts with "
                             f"{self.incoming[:16].hex()} and should with {mark.hex()}")


# The transport.


class End:
    """One end of the socket. The receiver listens; the sender, which is started later, connects."""

    def __init__(self, order):
        self.role = order["role"]
        self.pattern = order["pattern"]
        self.payload = Payload(order["size"])
        self.path = os.path.join(order["directory"], order["token"] + ".socket")
        self.listener = self.connection = None
        if self.role == "receiver":
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.path)
            self.listener.listen(1)
        else:
            self.connection = socket.socket(socket.AF_UNIX)
            self.connection.connect(self.path)

    def accept(self):
        # Not in `prepare`: the sender does not exist yet, and the answer must not wait for it.
        if self.connection is None:
            self.connection, _ = self.listener.accept()

    def send(self, message):
        self.connection.sendall(message)

    def receive(self, sequence, full):
        payload = self.payload
        if full:
            payload.incoming[:] = payload.poison
        rest = memoryview(payload.incoming)
        while rest:
            count = self.connection.recv_into(rest)
            if count == 0:
                raise EOFError("the other end is gone")
            rest = rest[count:]
        payload.verify(sequence, full)

    def close(self):
        if self.role == "receiver" and os.path.exists(self.path):
            os.unlink(self.path)


# The patterns.


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def run(end, order):
    """Runs one round and returns its result."""
    end.accept()
    full, timed = order["full_check"], order["histogram"]
    sequence, stamps, durations = order["first"], [], {}
    usage = resource.getrusage(resource.RUSAGE_SELF)
    start = last = now_ns()
    for _ in range(order["batches"]):
        for _ in range(order["batch"]):
            if end.role == "sender":
                end.send(end.payload.message(sequence))
                if end.pattern == "rtt":
                    end.receive(sequence, full)
                    if timed:
                        this = now_ns()
                        durations[this - last] = durations.get(this - last, 0) + 1
                        last = this
            else:
                end.receive(sequence, full)
                if end.pattern == "rtt":
                    end.send(end.payload.incoming)
            sequence += 1
        stamps.append(now_ns())
    finish = now_ns()
    return {"op": "result", "start_ns": start, "end_ns": finish, "stamps_ns": stamps,
            "histogram": sorted(durations.items()), "cost": cost(usage)}


def cost(before):
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "user_s": after.ru_utime - before.ru_utime,
        "system_s": after.ru_stime - before.ru_stime,
        "voluntary_switches": after.ru_nvcsw - before.ru_nvcsw,
        "involuntary_switches": after.ru_nivcsw - before.ru_nivcsw,
    }


# The protocol.


class Peer:
    def __init__(self):
        self.end = None
        self.orders = queue.SimpleQueue()

    def read_orders(self):
        """Runs beside the rounds, so that the end of the input ends the process even if a round is stuck."""
        for line in sys.stdin:
            order = json.loads(line)
            if order["op"] == "finish":
                break
            self.orders.put(order)
        if self.end is not None:
            self.end.close()
        os._exit(0)

    def answer(self, order):
        if order["op"] == "describe":
            return DESCRIPTION
        if order["op"] == "prepare":
            self.end = End(order)
            return {"op": "ready"}
        if order["op"] == "run":
            return run(self.end, order)
        return {"op": "error", "message": f"unknown request {order['op']}"}

    def serve(self):
        threading.Thread(target=self.read_orders, daemon=True).start()
        while True:
            order = self.orders.get()
            try:
                reply = self.answer(order)
            except Exception as error:
                reply = {"op": "error", "message": str(error) or type(error).__name__}
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    Peer().serve()
