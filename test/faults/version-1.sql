-- A store as version 1 of its shape had it: an app, two rules, twelve posts of which eight match, and a webhook link that
-- has come to position 3 with a retry of 2. Its secrets are sealed under the master key of 64 fives.
-- ENDPOINT_URL stands for the webhook's URL. The matches are as old as the store is when it is made of this.
BEGIN TRANSACTION;
CREATE TABLE apps (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    business_user_id INTEGER NOT NULL,
    instance_id INTEGER NOT NULL,
    consumer_key TEXT NOT NULL UNIQUE,
    consumer_secret BLOB NOT NULL,
    generation INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    revoked INTEGER NOT NULL
  ) STRICT;
INSERT INTO "apps" VALUES(2124159064030687232,'default',2124159064030687233,2124159064030687234,'3691e48f9faef46d46e27c6a2ccd72bf',X'7028FB65C4487F4ACA8BECEDF567D4B64815522B8B9526A16DEF8295289977B159E2E073CBD763F78F75B364E4838C3828E6BAFAB2792CF063C2873654939BDACCF2216BF44F9D1359FF73A35AB675CE9253F29E25400FF8B9E22E3D',1,1795273960491,0);
CREATE TABLE links (
    id INTEGER PRIMARY KEY,
    app_id INTEGER NOT NULL REFERENCES apps (id),
    webhook_id INTEGER NOT NULL UNIQUE REFERENCES webhooks (id) ON DELETE CASCADE,
    created_at_ms INTEGER NOT NULL,
    query TEXT NOT NULL,
    position INTEGER NOT NULL
  ) STRICT;
INSERT INTO "links" VALUES(2124159065137983488,2124159064030687232,2124159064886325248,1795273960752,'',3);
CREATE TABLE match_logs (
    app_id INTEGER PRIMARY KEY REFERENCES apps (id),
    head INTEGER NOT NULL
  ) STRICT;
INSERT INTO "match_logs" VALUES(2124159064030687232,8);
CREATE TABLE matches (
    app_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    post_id INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    rules TEXT NOT NULL,
    PRIMARY KEY (app_id, seq)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "matches" VALUES(2124159064030687232,1,1990000000000000002,unixepoch() * 1000,'[{"id":"2124159064617889792","tag":"cat"},{"id":"2124159064764690432","tag":"dog"}]');
INSERT INTO "matches" VALUES(2124159064030687232,2,1990000000000000003,unixepoch() * 1000,'[{"id":"2124159064764690432","tag":"dog"}]');
INSERT INTO "matches" VALUES(2124159064030687232,3,1990000000000000005,unixepoch() * 1000,'[{"id":"2124159064617889792","tag":"cat"},{"id":"2124159064764690432","tag":"dog"}]');
INSERT INTO "matches" VALUES(2124159064030687232,4,1990000000000000006,unixepoch() * 1000,'[{"id":"2124159064764690432","tag":"dog"}]');
INSERT INTO "matches" VALUES(2124159064030687232,5,1990000000000000008,unixepoch() * 1000,'[{"id":"2124159064617889792","tag":"cat"},{"id":"2124159064764690432","tag":"dog"}]');
INSERT INTO "matches" VALUES(2124159064030687232,6,1990000000000000009,unixepoch() * 1000,'[{"id":"2124159064764690432","tag":"dog"}]');
INSERT INTO "matches" VALUES(2124159064030687232,7,1990000000000000011,unixepoch() * 1000,'[{"id":"2124159064617889792","tag":"cat"},{"id":"2124159064764690432","tag":"dog"}]');
INSERT INTO "matches" VALUES(2124159064030687232,8,1990000000000000012,unixepoch() * 1000,'[{"id":"2124159064764690432","tag":"dog"}]');
CREATE TABLE posts (
    id INTEGER PRIMARY KEY,
    author_id INTEGER,
    created_at_ms INTEGER NOT NULL,
    is_reply INTEGER NOT NULL,
    is_repost INTEGER NOT NULL,
    core TEXT NOT NULL,
    envelope TEXT NOT NULL
  ) STRICT;
INSERT INTO "posts" VALUES(1990000000000000001,7,1763287200000,0,0,'{"id":"1990000000000000001","text":"no animal, number 1","edit_history_tweet_ids":["1990000000000000001"]}','{"data":{"id":"1990000000000000001","text":"no animal, number 1","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000002,7,1763287200000,0,0,'{"id":"1990000000000000002","text":"a cat and a dog, number 2","edit_history_tweet_ids":["1990000000000000002"]}','{"data":{"id":"1990000000000000002","text":"a cat and a dog, number 2","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000003,7,1763287200000,0,0,'{"id":"1990000000000000003","text":"a dog, number 3","edit_history_tweet_ids":["1990000000000000003"]}','{"data":{"id":"1990000000000000003","text":"a dog, number 3","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000004,7,1763287200000,0,0,'{"id":"1990000000000000004","text":"no animal, number 4","edit_history_tweet_ids":["1990000000000000004"]}','{"data":{"id":"1990000000000000004","text":"no animal, number 4","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000005,7,1763287200000,0,0,'{"id":"1990000000000000005","text":"a cat and a dog, number 5","edit_history_tweet_ids":["1990000000000000005"]}','{"data":{"id":"1990000000000000005","text":"a cat and a dog, number 5","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000006,7,1763287200000,0,0,'{"id":"1990000000000000006","text":"a dog, number 6","edit_history_tweet_ids":["1990000000000000006"]}','{"data":{"id":"1990000000000000006","text":"a dog, number 6","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000007,7,1763287200000,0,0,'{"id":"1990000000000000007","text":"no animal, number 7","edit_history_tweet_ids":["1990000000000000007"]}','{"data":{"id":"1990000000000000007","text":"no animal, number 7","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000008,7,1763287200000,0,0,'{"id":"1990000000000000008","text":"a cat and a dog, number 8","edit_history_tweet_ids":["1990000000000000008"]}','{"data":{"id":"1990000000000000008","text":"a cat and a dog, number 8","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000009,7,1763287200000,0,0,'{"id":"1990000000000000009","text":"a dog, number 9","edit_history_tweet_ids":["1990000000000000009"]}','{"data":{"id":"1990000000000000009","text":"a dog, number 9","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000010,7,1763287200000,0,0,'{"id":"1990000000000000010","text":"no animal, number 10","edit_history_tweet_ids":["1990000000000000010"]}','{"data":{"id":"1990000000000000010","text":"no animal, number 10","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000011,7,1763287200000,0,0,'{"id":"1990000000000000011","text":"a cat and a dog, number 11","edit_history_tweet_ids":["1990000000000000011"]}','{"data":{"id":"1990000000000000011","text":"a cat and a dog, number 11","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
INSERT INTO "posts" VALUES(1990000000000000012,7,1763287200000,0,0,'{"id":"1990000000000000012","text":"a dog, number 12","edit_history_tweet_ids":["1990000000000000012"]}','{"data":{"id":"1990000000000000012","text":"a dog, number 12","author_id":"7","created_at":"2025-11-16T10:00:00.000Z"},"includes":{"users":[{"id":"7","name":"Wren","username":"wren"}]}}');
CREATE TABLE retries (
    link_id INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    due_at_ms INTEGER NOT NULL,
    PRIMARY KEY (link_id, seq)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "retries" VALUES(2124159065137983488,2,1,0);
CREATE TABLE rule_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    app_id INTEGER NOT NULL,
    rule_id INTEGER NOT NULL,
    value TEXT,
    tag TEXT
  ) STRICT;
INSERT INTO "rule_changes" VALUES(1,2124159064030687232,2124159064617889792,'cat','cat');
INSERT INTO "rule_changes" VALUES(2,2124159064030687232,2124159064764690432,'dog','dog');
CREATE TABLE rules (
    id INTEGER PRIMARY KEY,
    app_id INTEGER NOT NULL REFERENCES apps (id),
    value TEXT NOT NULL,
    tag TEXT,
    UNIQUE (app_id, value)
  ) STRICT;
INSERT INTO "rules" VALUES(2124159064617889792,2124159064030687232,'cat','cat');
INSERT INTO "rules" VALUES(2124159064764690432,2124159064030687232,'dog','dog');
CREATE TABLE tokens (
    hash BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    app_id INTEGER REFERENCES apps (id),
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
INSERT INTO "tokens" VALUES(X'8359F1E4568EE6FD7E6652EE701BDAEE27F1BAE4A9F8EE134F80C7FDEF9A6458','app',2124159064030687232,1795273960493);
INSERT INTO "tokens" VALUES(X'8F271D649D397C8CBC2A3E7C99519C9CCD78738CA831196DABFF7CB2F1E97766','operator',NULL,1795273960526);
CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    -- Whether the id of every post by the user says when it was made.
    ids_hold_time INTEGER NOT NULL DEFAULT 1
  ) STRICT;
INSERT INTO "users" VALUES(7,0);
CREATE TABLE webhooks (
    id INTEGER PRIMARY KEY,
    app_id INTEGER NOT NULL REFERENCES apps (id),
    url TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    valid INTEGER NOT NULL,
    checked_at_ms INTEGER NOT NULL,
    signing_key BLOB NOT NULL,
    UNIQUE (app_id, url)
  ) STRICT;
INSERT INTO "webhooks" VALUES(2124159064886325248,2124159064030687232,'ENDPOINT_URL',1795273960743,1,unixepoch() * 1000,X'5360AF2562B48C1962D80F1ED32B3C95C61F2DE860DB4E501EE1E5346C33F2ADCC9346BEB36D33F1461102AAD2378C856BFFD404D2DC35E09F31BC96738462D5A273E8CB572A86C63A3FD0C3E67E');
CREATE INDEX tokens_of_app ON tokens (app_id);
CREATE INDEX rules_of_app ON rules (app_id, id);
CREATE INDEX links_of_app ON links (app_id, id);
CREATE INDEX posts_of_author ON posts (author_id, id, created_at_ms, is_reply, is_repost, core);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('rule_changes',2);
COMMIT;
PRAGMA user_version = 1;
