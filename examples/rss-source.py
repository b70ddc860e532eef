#!/usr/bin/env python3
"""A source in Python, with nothing but the standard library (3.9 or newer): sends the items of an RSS feed as posts.

    SLUICE_URL=http://127.0.0.1:8080 TOKEN=… python3 rss-source.py https://example.com/feed.xml

Each item always becomes the same post with the same id, and a server takes a post once by its id. So this may be killed
at any moment: after a restart it sends again what it cannot know to be stored, and nothing is stored twice. Its file
only saves work: the validators of the feed (ETag, Last-Modified), and the items that were sent.
"""

import hashlib
import json
import os
import signal
import sys
import threading
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from xml.etree import ElementTree

FEED = sys.argv[1]
SERVER = os.environ.get("SLUICE_URL", "http://127.0.0.1:8080")
TOKEN = os.environ["TOKEN"]
STATE_FILE = os.environ.get("STATE", "rss-source.json")
POLL_SECONDS = float(os.environ.get("POLL_SECONDS", "300"))
RETRY_SECONDS_MIN, RETRY_SECONDS_MAX = 1, 60
TIMEOUT_SECONDS = 30
FEED_BYTES_MAX = 16 * 1024 * 1024
TEXT_CHARACTERS_MAX = 25_000
X_EPOCH_MS = 1_288_834_974_657  # Ids of posts hold the milliseconds since then.

stopping = threading.Event()


def main() -> None:
    if not FEED.startswith(("http://", "https://")):
        sys.exit("The feed must be a URL that begins with http:// or https://.")
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: stopping.set())
    state = load_state()
    retry_seconds = RETRY_SECONDS_MIN
    while not stopping.is_set():
        try:
            state = poll(state)
            save_state(state)
            retry_seconds = RETRY_SECONDS_MIN
            wait = POLL_SECONDS
        except (OSError, ElementTree.ParseError) as error:  # The network, a status that is not 2xx, half a feed.
            retry_after = error.headers.get("retry-after", "") if isinstance(error, urllib.error.HTTPError) else ""
            wait = float(retry_after) if retry_after.isdigit() else retry_seconds
            retry_seconds = min(2 * retry_seconds, RETRY_SECONDS_MAX)
            print(f"{error!r}; the next attempt is in {wait:g} s", file=sys.stderr, flush=True)
        stopping.wait(wait)


def poll(state: dict) -> dict:
    """Reads the feed, sends its new items, and returns the state after that. Changes nothing when it raises."""
    request = urllib.request.Request(FEED, headers=state["validators"])
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            body = response.read(FEED_BYTES_MAX + 1)
            etag, modified = response.headers.get("etag"), response.headers.get("last-modified")
    except urllib.error.HTTPError as error:
        if error.code == 304:  # Not modified.
            return state
        raise
    if len(body) > FEED_BYTES_MAX:
        raise OSError(f"the feed has more than {FEED_BYTES_MAX} bytes")
    channel = ElementTree.fromstring(body).find("channel")
    if channel is None:
        raise ElementTree.ParseError("no RSS feed")
    envelopes = {one["data"]["id"]: one for item in channel.iter("item") if (one := envelope_of(item, channel))}
    send([one for post_id, one in envelopes.items() if post_id not in state["sent"]])
    validators = {"if-none-match": etag, "if-modified-since": modified}
    # Items that have left the feed do not come back, so the file is as long as the feed.
    return {"sent": list(envelopes), "validators": {name: value for name, value in validators.items() if value}}


def envelope_of(item: ElementTree.Element, channel: ElementTree.Element) -> "dict | None":
    """The post of an item. `None` for one without a date: its id would be another one after a restart."""
    title, link = item.findtext("title", "").strip(), item.findtext("link", "").strip()
    try:
        published_ms = int(parsedate_to_datetime(item.findtext("pubDate", "")).timestamp() * 1000)
    except (TypeError, ValueError):
        published_ms = 0
    if published_ms <= X_EPOCH_MS or title + link == "":
        print(f"skipped, without a date or a text: {title!r}", file=sys.stderr, flush=True)
        return None
    # Ids like X's, so posts are in the order of their dates: the time, and 22 bits that tell items of one moment apart.
    guid = item.findtext("guid") or link or title
    post_id = (published_ms - X_EPOCH_MS) << 22 | digits_of(f"{FEED} {guid}", bits=22)
    author_id = str(digits_of(FEED, bits=62))
    text = f"{title}\n{link}".strip()[:TEXT_CHARACTERS_MAX]
    author = {"id": author_id, "username": f"feed_{author_id[:10]}", "name": channel.findtext("title", FEED)}
    return {"data": {"id": str(post_id), "text": text, "author_id": author_id}, "includes": {"users": [author]}}


def digits_of(text: str, bits: int) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - bits)


def send(envelopes: list) -> None:
    """Sends posts, oldest first. Returns when the server has stored them: only then does it respond."""
    if not envelopes:
        return
    envelopes.sort(key=lambda one: int(one["data"]["id"]))
    body = "".join(json.dumps(one) + "\n" for one in envelopes).encode()
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/x-ndjson"}
    request = urllib.request.Request(f"{SERVER}/sluice/v1/posts", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        report = json.load(response)
    print(json.dumps({name: report[name] for name in ("accepted", "duplicates", "rejected_count")}), flush=True)
    for refused in report["rejected"]:
        print("rejected:", refused["detail"], file=sys.stderr, flush=True)


def load_state() -> dict:
    try:
        with open(STATE_FILE, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"sent": [], "validators": {}}


def save_state(state: dict) -> None:
    """Replaces the file in one step, so that it is never half written."""
    with open(f"{STATE_FILE}.new", "w", encoding="utf-8") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{STATE_FILE}.new", STATE_FILE)


main()
