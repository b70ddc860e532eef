"""X's sample of a filtered stream for Python, request by request, over the installed `requests`.

Lists the rules, deletes them if there are any, adds three and connects. Writes a line of JSON for each response and each
record, and ends after one record.
"""

import json
import os

import requests

url = os.environ["SLUICE_URL"] + "/2/tweets/search/stream"


def authorize(request):
    request.headers["Authorization"] = "Bearer " + os.environ["BEARER_TOKEN"]
    request.headers["User-Agent"] = "v2FilteredStreamPython"
    return request


def tell(step, status, body):
    print(json.dumps({"step": step, "status": status, "body": body}), flush=True)


listed = requests.get(url + "/rules", auth=authorize)
rules = listed.json()
tell("list", listed.status_code, rules)
if rules is not None and "data" in rules:
    ids = [rule["id"] for rule in rules["data"]]
    deleted = requests.post(url + "/rules", auth=authorize, json={"delete": {"ids": ids}})
    tell("delete", deleted.status_code, deleted.json())
added = requests.post(
    url + "/rules",
    auth=authorize,
    json={
        "add": [
            {"value": "dog has:images", "tag": "dog pictures"},
            {"value": "cat has:images -grumpy", "tag": "cat pictures"},
            {"value": "cat has:images"},
        ]
    },
)
tell("add", added.status_code, added.json())
with requests.get(url, auth=authorize, stream=True) as stream:
    tell("connect", stream.status_code, None)
    for line in stream.iter_lines():
        if line:
            tell("record", 200, json.loads(line))
            break
