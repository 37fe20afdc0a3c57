#!/usr/bin/env python3
"""A small application as somebody might have it: records in a file, served over HTTP.

    records.py serve FILE [--listen ADDRESS:PORT] [--pid-file FILE]
    records.py reset FILE COUNT BYTES      the first COUNT records, of BYTES bytes each
    records.py audit FILE COUNT            counts what came after them
"""

import http.server
import os
import sys
import threading
import urllib.parse

LOCK = threading.Lock()
RECORDS = []


def first_records(count, size):
    for number in range(1, count + 1):
        start = f"record-{number}-"
        yield start + "x" * (size - len(start))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        path, _, query = self.path.partition("?")
        fields = dict(urllib.parse.parse_qsl(query))
        if path == "/health":
            self.answer(200, "ok\n")
        elif path == "/record":
            self.read(int(fields["number"]), 1)
        elif path == "/list":
            self.read(int(fields["first"]), int(fields["count"]))
        elif path == "/write":
            self.answer(200, f"written {self.server.write(fields['text'])}\n")
        else:
            self.answer(404, "there is no such page\n")

    def read(self, first, count):
        with LOCK:
            found = RECORDS[first - 1 : first - 1 + count]
        lines = (f"{number} {text}\n" for number, text in enumerate(found, first))
        self.answer(200 if found else 404, "".join(lines))

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, path):
        super().__init__(address, Handler)
        with open(path) as file:
            RECORDS.extend(file.read().splitlines())
        self.file = open(path, "a")

    def write(self, text):
        with LOCK:
            self.file.write(text + "\n")
            self.file.flush()
            RECORDS.append(text)
            return len(RECORDS)


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def serve(path):
    host, _, port = option("--listen", "127.0.0.1:0").rpartition(":")
    server = Server((host, int(port)), path)
    pid_file = option("--pid-file", None)
    if pid_file:
        with open(pid_file, "w") as file:
            file.write(f"{os.getpid()}\n")
    print(f"listening on {server.server_address[1]}", flush=True)
    server.serve_forever()


def reset(path, count, size):
    with open(path, "w") as file:
        file.writelines(text + "\n" for text in first_records(int(count), int(size)))


def audit(path, count):
    with open(path) as file:
        texts = file.read().splitlines()
    new = texts[int(count) :]
    print(f"looked into {os.path.basename(path)}")
    print(f"new records = {len(new)}")
    print(f"bytes of new records = {sum(len(text) for text in new)}")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:]]
    {"serve": serve, "reset": reset, "audit": audit}[words[0]](
        *(words[1:2] if words[0] == "serve" else words[1:])
    )
