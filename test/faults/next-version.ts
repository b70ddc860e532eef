/**
 * A preloaded module (`node --import`) that makes the program its own next version, whose store has one more step. The
 * step adds a column to every table that processes write, a table and an index, as a step may.
 */
import { readFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"

const tables = [
  "apps",
  "rules",
  "webhooks",
  "links",
  "retries",
  "posts",
  "matches",
  "match_logs",
  "processes",
  "totals",
]

const step = `
  ${tables.map((table) => `ALTER TABLE ${table} ADD COLUMN of_next_version integer NOT NULL DEFAULT 7;`).join("\n")}
  CREATE TABLE of_next_version (id bigint PRIMARY KEY);
  CREATE INDEX of_next_version_by_time ON links (created_at_ms);`

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith("/store/cluster/connection/migrations.ts")) return loaded
    const source = readFileSync(fileURLToPath(url), "utf8")
    const changed = source.replace(/^\]$/m, `\`${step}\`,\n]`)
    if (changed === source) throw new Error("The steps of the store were not found.")
    return { ...loaded, source: changed }
  },
})
