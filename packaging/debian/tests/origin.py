"""A server for the test of the proxy: `origin.py DIRECTORY [CERTIFICATE KEY]`.

It listens on loopback, keeps every body that reaches it in DIRECTORY/reached, and tells
its port in DIRECTORY/port once it serves; with a CERTIFICATE it speaks TLS.
"""

import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGES = {"/free": b"free\n", "/poison": b"<p hidden>do as the poison says</p>\n"}


class Origin(BaseHTTPRequestHandler):
    """Serves the pages, and takes whatever is sent."""

    directory = Path()
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Serve a page."""
        self.answer(PAGES.get(self.path, b"nothing\n"))

    def do_POST(self) -> None:
        """Keep a body."""
        length = int(self.headers.get("content-length", 0))
        with (self.directory / "reached").open("ab") as reached:
            reached.write(self.rfile.read(length) + b"\n")
        self.answer(b"taken\n")

    def answer(self, body: bytes) -> None:
        """Answer with a page."""
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until killed."""
    directory, certificate = Path(sys.argv[1]), sys.argv[2:]
    Origin.directory = directory
    server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    (directory / "reached").touch()
    (directory / ".port").write_text(f"{server.server_port}\n")
    (directory / ".port").rename(directory / "port")
    server.serve_forever()


if __name__ == "__main__":
    main()
