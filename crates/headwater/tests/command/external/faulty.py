#!/usr/bin/env python3
"""The minimal peer with one fault, for the tests of external transports: faulty.py PATH-OF-PEER FAULT [NAME]."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.dont_write_bytecode = True
import peer  # noqa: E402 - its place is an argument

FAULT = sys.argv[2]
NAME = sys.argv[3] if len(sys.argv) > 3 else "faulty"

peer.DESCRIPTION["name"] = NAME


class Faulty(peer.Peer):
    def answer(self, order):
        fault = FAULT.removesuffix("-" + order["op"])
        here = fault != FAULT and (order["op"] != "run" or self.is_middle(order))
        if here and fault == "die":
            os._exit(3)
        if here and fault == "hang":
            time.sleep(3600)
        if here and fault == "nonsense":
            print("hello, world", flush=True)
            threading.Event().wait()
        if here and fault == "error":
            raise RuntimeError("the library says no")
        if here and fault == "skip":
            return {"op": "skipped", "reason": "no such device"}
        reply = super().answer(order)
        if order["op"] == "describe":
            self.describe(reply)
        if order["op"] == "run" and FAULT == "silent-cost":
            del reply["cost"]
        if order["op"] == "run" and FAULT == "few-stamps":
            reply["stamps_ns"] = reply["stamps_ns"][:2]
        return reply

    def is_middle(self, order):
        """One end only, in a round that is neither the first nor the last."""
        return self.end.role == "sender" and order["first"] > 0

    def describe(self, reply):
        if FAULT == "other-version":
            reply["protocol"] = 2
        if FAULT == "no-pattern":
            reply["patterns"] = ["broadcast"]


class Damaging(peer.Payload):
    """Flips a bit in a single message."""

    def message(self, sequence):
        message = super().message(sequence)
        if sequence != 300:
            return message
        return bytes([message[0] ^ 1]) + bytes(message[1:])


class Deaf(Faulty):
    """Neither the end of its input nor finish ends it."""

    def read_orders(self):
        for line in sys.stdin:
            self.orders.put(peer.json.loads(line))
        threading.Event().wait()

    def answer(self, order):
        if order["op"] == "finish":
            threading.Event().wait()
        return super().answer(order)


if FAULT == "damage":
    peer.Payload = Damaging
(Deaf if FAULT == "deaf" else Faulty)().serve()
