/**
 * A bot: reads the filtered stream and greets the author of each post that matches its rule, once.
 *
 *     npm install @sluice/client
 *     SLUICE_URL=http://127.0.0.1:8080 TOKEN=… RULE="hello bot" node bot.ts
 *
 * The client reconnects and requests what was matched meanwhile, also over restarts of the bot: a line of its file holds
 * each post that it has greeted, and the time until which it had missed none then. It continues from the last of these times,
 * wherever it was stopped, and greets no post a second time. A crash between a greeting and its line repeats that greeting, and
 * never loses one.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createClient } from "@sluice/client"

const minuteMs = 60_000
const tag = "bot"
const file = process.env["POSITION"] ?? "bot-position.ndjson"
const client = createClient({ url: process.env["SLUICE_URL"] ?? "http://127.0.0.1:8080", token: process.env["TOKEN"] })

// A graceful stop: the signal ends the iteration between two posts.
const stop = new AbortController()
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort())
const { signal } = stop

await addRule(process.env["RULE"] ?? "hello bot")
const { greeted, lastAtMs } = readPosition()
const stream = client.stream({
  query: { expansions: "author_id" },
  // No server keeps more than a day.
  completeUntil: new Date(Math.max(lastAtMs, Date.now() - (24 * 60 - 2) * minuteMs)),
  signal,
  onDisconnect: ({ delayMs }) => console.error(`disconnected; the next attempt is in ${delayMs} ms`),
  onGap: ({ from, to }) => console.error(`posts from ${from.toISOString()} to ${to.toISOString()} may be missing`),
})
for await (const { body, completeUntil } of stream) {
  const post = body?.data
  // The app may have other rules, whose posts are on the same stream.
  if (post === undefined || body?.matching_rules?.some((rule) => rule.tag === tag) !== true) continue
  if (greeted.has(post.id)) continue
  const author = body.includes?.["users"] as readonly { readonly username: string }[] | undefined
  // The work goes here.
  console.log(JSON.stringify({ in_reply_to: post.id, text: `Hello @${author?.[0]?.username ?? "you"}!` }))
  greeted.add(post.id)
  appendFileSync(file, `${JSON.stringify({ id: post.id, atMs: completeUntil.getTime() })}\n`)
}

/** Adds the bot's rule, unless the app has it. */
async function addRule(value: string): Promise<void> {
  for await (const rule of client.rules.get().items()) if (rule.value === value && rule.tag === tag) return
  await client.rules.add([{ value, tag }])
}

interface Greeted {
  readonly id: string
  /** Until then no post was missing. */
  readonly atMs: number
}

/** The posts that were greeted, and until when none is missing. The file keeps the newest 10,000, and all that may repeat. */
function readPosition(): { readonly greeted: Set<string>; readonly lastAtMs: number } {
  // A crash may have left half a line at the end.
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : []
  const all = lines.map((line) => JSON.parse(line) as Greeted)
  // The first start is a position too: what is matched while the bot is stopped comes after it.
  const atMs = all.at(-1)?.atMs ?? Date.now()
  // The client repeats what is newer than the position, and a minute or two before it.
  const kept = all.filter((one, at) => at >= all.length - 10_000 || one.atMs >= atMs - 2 * minuteMs)
  const written = kept.length > 0 ? kept : [{ id: "", atMs }]
  writeFileSync(`${file}.new`, written.map((one) => `${JSON.stringify(one)}\n`).join(""))
  renameSync(`${file}.new`, file)
  return { greeted: new Set(kept.map(({ id }) => id)), lastAtMs: atMs }
}
