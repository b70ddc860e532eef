#!/usr/bin/env python3
"""A webhook receiver in Python, with nothing but the standard library (3.9 or newer).

    CLIENT_SECRET=… PORT=3000 DATABASE=posts.db python3 receiver.py

Answers challenges, checks the signature of each delivery, and stores each post once. The id of a delivery and the post
that it brought are written in one transaction: after a crash the server sends the delivery again, and it is new.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import signal
import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

# As `sluice app create` prints it. X's applications have one too.
SECRET = os.environ["CLIENT_SECRET"].encode()
BODY_BYTES_MAX = 16 * 1024 * 1024
# Challenges of X and Sluice are base64 of some kind.
CRC_TOKEN = re.compile(r"[\w.~+/= -]{1,256}", re.ASCII)

database = sqlite3.connect(os.environ.get("DATABASE", "posts.db"), check_same_thread=False)
database.execute("CREATE TABLE IF NOT EXISTS deliveries (id TEXT PRIMARY KEY)")
database.execute("CREATE TABLE IF NOT EXISTS posts (id TEXT PRIMARY KEY, text TEXT NOT NULL)")
database_lock = threading.Lock()


def sign(message: bytes) -> str:
    """X's signature, of bodies and of challenges alike."""
    digest = hmac.new(SECRET, message, hashlib.sha256).digest()
    return "sha256=" + base64.b64encode(digest).decode()


def handle(delivery_id: str, event: dict) -> None:
    """The work. When it raises, nothing is committed, the response is 500, and the server tries again later."""
    with database_lock, database:
        if database.execute("INSERT OR IGNORE INTO deliveries VALUES (?)", (delivery_id,)).rowcount == 0:
            return  # A repeat: its response was lost, or came too late.
        if "data" not in event:
            return  # The message at the end of a replay.
        post = event["data"]
        database.execute("INSERT OR IGNORE INTO posts VALUES (?, ?)", (post["id"], post["text"]))
    tags = [rule["tag"] for rule in event["matching_rules"]]
    print(json.dumps({"post": post["id"], "text": post["text"], "tags": tags}), flush=True)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Connections are kept, so a delivery costs no handshake.
    timeout = 60  # Seconds that a client may be silent.

    def do_GET(self) -> None:
        """A challenge: proves that this endpoint knows the secret."""
        token = parse_qs(urlsplit(self.path).query).get("crc_token", [""])[0]
        if token == "":
            return self.respond(404)
        if not CRC_TOKEN.fullmatch(token):  # The answer to another text could be the signature of a forged delivery.
            return self.respond(400)
        self.respond(200, json.dumps({"response_token": sign(token.encode())}).encode())

    def do_POST(self) -> None:
        """A delivery. The signature is of the raw bytes, so it is checked before anything parses them."""
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > BODY_BYTES_MAX:
            return self.refuse(413, "the length of the body is unknown or too large")
        body = self.rfile.read(int(length))
        signature = self.headers.get("x-twitter-webhooks-signature-oauth2", "")
        # Compared in constant time: how far it is right must not show.
        if not hmac.compare_digest(sign(body).encode(), signature.encode("latin-1")):
            return self.refuse(403, "the signature is missing or wrong")
        try:
            # Every attempt at a delivery has the same id. X sends none: there its signature serves.
            handle(self.headers.get("webhook-id", signature), json.loads(body))
        except Exception as error:
            return self.refuse(500, f"not handled: {error!r}")
        self.respond(200)

    def respond(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status: int, reason: str) -> None:
        print("refused:", reason, file=sys.stderr, flush=True)
        self.close_connection = True  # The body may be unread.
        self.respond(status)

    def log_message(self, *_: object) -> None:
        """Deliveries and refusals are printed already."""


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # Connections that may arrive at once.
    block_on_close = False  # A connection that is kept open and idle does not hold up the end.


# In production a proxy with TLS stands in front of this: `sluice serve` and X send to https alone.
server = Server(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
for stop in (signal.SIGINT, signal.SIGTERM):
    # From another thread, since `shutdown` waits for the loop that the signal has interrupted.
    signal.signal(stop, lambda *_: threading.Thread(target=server.shutdown).start())
print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
# A delivery that is being handled is committed first; one that is not is sent again.
with database_lock:
    server.server_close()
    database.close()
