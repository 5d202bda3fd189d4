"""A machine's name server: a network and a resolv.conf of its own, for who enters them.

Run as a program by root in new namespaces (`unshare -mn`), with a file to mount over
`/etc/resolv.conf`: says a line once it serves, and ends with its input.
"""

import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

__all__: list[str] = []

_HERE = ("127.0.0.1", 53)
_LONG = b"".join(bytes([250]) + bytes([each]) * 250 for each in b"abcd")
_RECORDS: dict[tuple[bytes, int], list[bytes]] = {
    # A name of `.mail.` is told by a pointer to the question's.
    (b"mail.test", 15): [b"\0\x0a\2mx\xc0\x0c"],
    (b"_db._tcp.mail.test", 33): [b"\0\0\0\0\x69\x89\2db\4mail\4test\0"],
    (b"mail.test", 16): [b"\5hello"],
    (b"long.test", 16): [_LONG],
    (b"sly.test", 16): [b"\5hello"],
    (b"odd.test", 16): [b"\5hello"],
    (b"broken.test", 16): [b"\5hello"],
}
"""What there is, by small letters and the kind.

`sly.test` and `odd.test` have an address beside, `broken.test` less than it says.
"""


def _answer(query: bytes) -> bytes:
    at, labels = 12, []
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].lower())
        at += 1 + length
    name = b".".join(labels)
    (kind,) = struct.unpack_from("!H", query, at + 1)
    records = [(kind, each) for each in _RECORDS.get((name, kind), ())]
    if name == b"sly.test":
        records.append((1, bytes([203, 0, 113, 9])))
    if name == b"odd.test":  # IPSECKEY, which has an address
        records.append((45, bytes([10, 1, 2, 203, 0, 113, 9])))
    code = 0 if any(known == name for known, _ in _RECORDS) else 3
    count = len(records) + (name == b"broken.test")
    head = query[:2] + struct.pack("!5H", 0x8180 | code, 1, count, 0, 0)
    return (
        head
        + query[12 : at + 5]
        + b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(each)) + each
            for kind, each in records
        )
    )


def _serve_datagrams(server: socket.socket) -> None:
    while True:
        query, client = server.recvfrom(4096)
        answer = _answer(query)
        if len(answer) > 512:  # the rest is told by TCP
            answer = answer[:2] + b"\x83\x80" + query[4:6] + bytes(6) + query[12:]
        server.sendto(answer, client)


def _serve_streams(server: socket.socket) -> None:
    while True:
        client, _ = server.accept()
        with client, client.makefile("rb") as stream:
            (length,) = struct.unpack("!H", stream.read(2))
            answer = _answer(stream.read(length))
            client.sendall(struct.pack("!H", len(answer)) + answer)


def main() -> None:
    """Serve as this network's only name server."""
    conf = Path(sys.argv[1])
    conf.write_text(f"nameserver {_HERE[0]}\noptions timeout:1 attempts:1\n")
    for words in (
        ("ip", "link", "set", "lo", "up"),
        ("mount", "--bind", str(conf), "/etc/resolv.conf"),
    ):
        subprocess.run(words, check=True)
    datagrams = socket.socket(type=socket.SOCK_DGRAM)
    datagrams.bind(_HERE)
    streams = socket.create_server(_HERE)
    for serve, server in ((_serve_datagrams, datagrams), (_serve_streams, streams)):
        threading.Thread(target=serve, args=[server], daemon=True).start()
    sys.stdout.write("\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
