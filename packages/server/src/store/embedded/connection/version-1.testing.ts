/** A store as the first version of the program left it, with something of everything in it. */
import { readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { makePrivate } from "./database.ts"

/** A store of that version in full. Its tables are taken from there: a released step may be broken, but not this. */
const dump = new URL("../../../../../../test/faults/version-1.sql", import.meta.url)

/** Makes the file. App 100 has two links on a log of three; the first has passed two matches and owes one of them. */
export function makeVersion1(file: string): void {
  makePrivate(file)
  using db = new DatabaseSync(file)
  db.exec("PRAGMA page_size = 16384; PRAGMA journal_mode = WAL")
  const definitions = readFileSync(dump, "utf8").match(/^CREATE [^;]+;/gm) ?? []
  db.exec(definitions.join("\n"))
  db.exec(rows)
  db.exec("PRAGMA user_version = 1")
}

const rows = `
  INSERT INTO apps VALUES (100, 'app', 1, 2, 'key', x'010203', 1, 5, 0);
  INSERT INTO tokens VALUES (x'0a', 'app', 100, 5);
  INSERT INTO rules VALUES (5, 100, 'cat', NULL);
  INSERT INTO webhooks VALUES (11, 100, 'https://example.com/a', 7, 1, 8, x'09');
  INSERT INTO webhooks VALUES (12, 100, 'https://example.com/b', 7, 0, 8, x'09');
  INSERT INTO links VALUES (31, 100, 11, 8, 'tweet.fields=text', 2);
  INSERT INTO links VALUES (32, 100, 12, 8, '', 3);
  INSERT INTO retries VALUES (31, 1, 4, 99);
  INSERT INTO posts VALUES (9007199254740993, 9007199254740995, 40, 0, 0, '{"id":"9007199254740993"}', '{"data":1}');
  INSERT INTO posts VALUES (2, 7, 41, 1, 0, '{"id":"2","text":"grüße 🌍"}', '{"data":2}');
  INSERT INTO posts VALUES (3, NULL, 42, 0, 1, '{"id":"3"}', '{"data":3}');
  INSERT INTO users VALUES (7, 0), (9007199254740995, 0);
  INSERT INTO match_logs VALUES (100, 3);
  INSERT INTO matches VALUES (100, 1, 9007199254740993, 1700000000000, '[{"id":"5"}]');
  INSERT INTO matches VALUES (100, 2, 2, 1700000000000, '[{"id":"5"}]');
  INSERT INTO matches VALUES (100, 3, 3, 1700000000001, '[{"id":"5"}]');
`
