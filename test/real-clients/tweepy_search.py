"""tweepy's installed Client, which searches, counts, and lists the mentions of a user.

Prints one line of JSON for each.
"""

import os

import tweepy

from tweepy_server import redirect, tell

client = tweepy.Client(os.environ["BEARER_TOKEN"])
redirect(client)
tell("connect", None)
found = client.search_recent_tweets("plover", max_results=10, tweet_fields=["created_at"], expansions=["author_id"])
tell("search", [[post.id for post in found.data], [user.username for user in found.includes["users"]]])
pages = tweepy.Paginator(client.search_recent_tweets, "plover", max_results=10)
tell("pages", [post.id for post in pages.flatten()])
tell("none", [client.search_recent_tweets("nobody").data])
recent = client.get_recent_tweets_count("plover", granularity="day")
tell("counts", [recent.meta["total_tweet_count"], sum(count["tweet_count"] for count in recent.data)])
days = tweepy.Paginator(client.get_all_tweets_count, "plover", start_time="2026-01-01T00:00:00Z", granularity="day")
tell("count pages", [page.meta["total_tweet_count"] for page in days])
mentions = tweepy.Paginator(client.get_users_mentions, 7, max_results=5)
tell("mentions", [post.id for post in mentions.flatten()])
