"""tweepy's installed StreamingClient, on a server whose address it has no option for.

Adds a rule with a tag and one without, connects, and prints one line of JSON for each record that it has read, and one
for the exception that ended it, if any. Ends after two records.
"""

import os
import sys

import tweepy

from tweepy_server import redirect, tell


class Stream(tweepy.StreamingClient):
    records = 0

    def on_connect(self):
        tell("connect", None)

    def on_response(self, response):
        tell("record", {"id": response.data.id, "rules": [[rule.id, rule.tag] for rule in response.matching_rules]})
        self.records += 1
        if self.records == 2:
            # `disconnect` would wait for the next line.
            sys.exit()

    def on_exception(self, exception):
        tell("exception", repr(exception))


stream = Stream(os.environ["BEARER_TOKEN"], max_retries=0)
redirect(stream)
added = stream.add_rules([tweepy.StreamRule("cat", tag="pets"), tweepy.StreamRule("grey")])
tell("add", [[rule.id, rule.tag] for rule in added.data])
tell("list", [[rule.value, rule.tag] for rule in stream.get_rules().data])
stream.filter()
