"""The other end of the daemon's channel: a proxy that judges lines of text.

Each connection sends `CREDENTIAL TEXT` and is answered `VERDICT REFUSED`; one that
sends `settings` is answered what the daemon has told, `looks` how often it was told to
look again, `pid` the process; `quit` ends it, and `fail WHY` tells the daemon so.
"""

import argparse
import json
import os
import select
import socket
import sys
import threading

from redlane.wire.frames import HEAD_BYTES, body_length, pack, unpack


class Proxy:
    """Serves lines; knows the settings."""

    def __init__(self, listener: int, channel: int) -> None:
        self.listener = socket.socket(fileno=listener)
        self.channel = socket.socket(fileno=channel)
        self.settings = json.loads(self.channel.recv(1 << 17))
        self.looks = 0

    def run(self) -> None:
        if os.path.exists(self.settings["trusted"] + ".broken"):  # noqa: PTH110
            sys.exit("it is broken")
        self.channel.send(b'{"ready": true}')
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        poll.register(self.channel, select.POLLIN)
        while True:
            for number, _ in poll.poll():
                if number == self.listener.fileno():
                    self.accept()
                    continue
                message = self.channel.recv(1 << 17)
                if not message:
                    return
                told = json.loads(message)
                if told == {"look_again": True}:
                    self.looks += 1
                else:
                    self.settings = told

    def accept(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except BlockingIOError:
            return
        connection.settimeout(None)
        threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rw") as stream:
            word, _, rest = stream.readline().rstrip("\n").partition(" ")
            match word:
                case "settings":
                    stream.write(json.dumps(self.settings) + "\n")
                case "looks":
                    stream.write(f"{self.looks}\n")
                case "pid":
                    stream.write(f"{os.getpid()} {os.getpgrp()}\n")
                case "environment":
                    stream.write(json.dumps(dict(os.environ)) + "\n")
                case "descriptors":
                    stream.write(json.dumps(os.listdir("/proc/self/fd")) + "\n")  # noqa: PTH208
                case "quit":
                    os._exit(3)
                case "fail":
                    self.channel.send(json.dumps({"failed": rest}).encode())
                case "nonsense":
                    self.channel.send(rest.encode())
                case _:
                    stream.write(self.judge(word, rest) + "\n")

    def judge(self, credential: str, text: str) -> str:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                socket.send_fds(
                    self.channel, [b'{"connection": true}'], [theirs.fileno()]
                )
            question = {"kind": "judge", "context": "Network", "credential": credential}
            client = {"client": ["127.0.0.1", 1], "connection": "c"}
            for piece in pack({**question, **client}, [text.encode()]):
                ours.sendall(piece)
            with ours.makefile("rb") as stream:
                head = stream.read(HEAD_BYTES)
                answer = unpack(head, stream.read(body_length(head))).document
        return f"{answer['verdict']} {answer.get('refused')}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--listener", type=int)
    parser.add_argument("--channel", type=int)
    found = parser.parse_args()
    Proxy(found.listener, found.channel).run()
