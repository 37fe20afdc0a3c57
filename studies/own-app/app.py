"""A small application to begin with: a page, a search, and a list that users add to."""

import sqlite3
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

DATABASE = "/var/lib/app/notes.sqlite"


def connect():
    connection = sqlite3.connect(DATABASE, timeout=10)
    connection.execute("CREATE TABLE IF NOT EXISTS notes (text TEXT NOT NULL)")
    return connection


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, status, text):
        body = f"<html><body>{text}</body></html>\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        address = urlsplit(self.path)
        if address.path == "/":
            self.answer(200, "Welcome")
        elif address.path == "/search":
            word = parse_qs(address.query).get("word", [""])[0]
            with connect() as connection:
                query = "SELECT count(*) FROM notes WHERE text LIKE ?"
                (found,) = connection.execute(query, (f"%{word}%",)).fetchone()
            self.answer(200, f"found {found}")
        else:
            self.answer(404, "no such page")

    def do_POST(self):
        length = int(self.headers.get("Content-Length", "0"))
        text = parse_qs(self.rfile.read(length).decode()).get("text", [""])[0]
        with connect() as connection:
            connection.execute("INSERT INTO notes VALUES (?)", (text,))
        self.answer(200, "noted")

    def log_message(self, *_):
        pass


connect().close()
print("listening", flush=True)
ThreadingHTTPServer(("0.0.0.0", 8080), Handler).serve_forever()
