/**
 * A bot: reads the filtered stream and greets the author of each post that matches its rule, once.
 *
 *     npm install @sluice/client
 *     SLUICE_URL=http://127.0.0.1:8080 TOKEN=… RULE="hello bot" node bot.ts
 *
 * While it runs, the client reconnects and requests what was matched meanwhile. Over restarts the bot does: a line of
 * its file holds each post that it has greeted and when, so it continues after the last, and greets none a second time.
 * A crash between a greeting and its line repeats that greeting, and never loses one.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createClient, type StreamLine } from "@sluice/client"

const tag = "bot"
const file = process.env["POSITION"] ?? "bot-position.ndjson"
const client = createClient({ url: process.env["SLUICE_URL"] ?? "http://127.0.0.1:8080", token: process.env["TOKEN"] })

// A graceful stop: the signal ends the iteration between two posts.
const stop = new AbortController()
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort())
const { signal } = stop

await addRule(process.env["RULE"] ?? "hello bot")
const { greeted, lastAtMs } = readPosition()
for await (const { body } of postsAfter(lastAtMs)) {
  const post = body?.data
  // The app may have other rules, whose posts are on the same stream.
  if (post === undefined || body?.matching_rules?.some((rule) => rule.tag === tag) !== true) continue
  if (greeted.has(post.id)) continue
  const author = body.includes?.["users"] as readonly { readonly username: string }[] | undefined
  // The work goes here.
  console.log(JSON.stringify({ in_reply_to: post.id, text: `Hello @${author?.[0]?.username ?? "you"}!` }))
  greeted.add(post.id)
  appendFileSync(file, `${JSON.stringify({ id: post.id, atMs: Date.now() })}\n`)
}

/** Adds the bot's rule, unless the app has it. */
async function addRule(value: string): Promise<void> {
  for await (const rule of client.rules.get().items()) if (rule.value === value && rule.tag === tag) return
  await client.rules.add([{ value, tag }])
}

/** The posts that were greeted, of which the file keeps the newest 10,000, and when the last one was. */
function readPosition(): { readonly greeted: Set<string>; readonly lastAtMs: number } {
  // A crash may have left half a line at the end.
  const kept = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1).slice(-10_000) : []
  // The first start is a position too: what is matched while the bot is stopped comes after it.
  const lines = kept.length > 0 ? kept : [JSON.stringify({ id: "", atMs: Date.now() })]
  writeFileSync(`${file}.new`, lines.map((line) => `${line}\n`).join(""))
  renameSync(`${file}.new`, file)
  const entries = lines.map((line) => JSON.parse(line) as { readonly id: string; readonly atMs: number })
  return { greeted: new Set(entries.map(({ id }) => id)), lastAtMs: entries.at(-1)?.atMs ?? Date.now() }
}

/**
 * The matches since then, as far as the server keeps them, and then new ones.
 *
 *     ── the last greeting ──┤ recovery by start_time ├ backfill_minutes: 1 to 5 ├── live ──
 *
 * Both overlap with what came before by a minute, in which posts may have been on their way.
 */
async function* postsAfter(sinceMs: number): AsyncGenerator<StreamLine> {
  const minuteMs = 60_000
  const query = { expansions: "author_id" }
  // No server keeps more than a day.
  let completeAtMs = Math.max(sinceMs, Date.now() - (24 * 60 - 2) * minuteMs)
  // Recover the matches too old for a backfill; again, if reading them took as long.
  while (Date.now() - completeAtMs > 4 * minuteMs && !signal.aborted) {
    const beganAtMs = Date.now()
    const startTime = new Date(completeAtMs - minuteMs).toISOString()
    yield* client.stream({ query: { ...query, start_time: startTime }, signal })
    completeAtMs = beganAtMs
  }
  if (signal.aborted) return
  const minutes = Math.ceil((Date.now() - completeAtMs) / minuteMs) + 1
  // From here the client keeps the position itself, over any number of connections.
  yield* client.stream({
    query: { ...query, backfill_minutes: Math.min(minutes, 5) },
    signal,
    onDisconnect: ({ delayMs }) => console.error(`disconnected; the next attempt is in ${delayMs} ms`),
    onGap: ({ from, to }) => console.error(`posts from ${from.toISOString()} to ${to.toISOString()} may be missing`),
  })
}
