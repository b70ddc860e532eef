/**
 * The oracle: a program outside the server that sends posts, receives the deliveries, and at the end decides whether
 * the server kept its promises. It shares no code with the server; it knows the envelope and the HTTP contract.
 *
 *     sluice dev --json ── ready lines ──► stdin
 *                                          feeder ── NDJSON ──► server ──► receiver
 *                                             └──────► journal ◄────────────┘
 *                          { finish } ───► journal + the server's state ──► verdict on stdout
 *
 * The process that starts and ends the server passes on its ready line each time; the oracle works with the life of the
 * last line. The final line, `{"event":"finish","ends":n}`, has the number of the server's ends, as some of its lives
 * may have been too short for a ready line. Lines on standard output are JSON: `{"event":"feeding"}` once rules,
 * webhooks and links exist, `{"event":"acknowledged"}` when a body is acknowledged, `{"event":"working","life":n}` once
 * the nth life has acknowledged posts and made deliveries, and at the end the verdict. After a line `{"event":"hold"}`
 * on standard input the oracle responds to no delivery of that life, and `{"event":"held"}` reports each that waits.
 * Exits 0 when the verdict is clean, 1 when it is not, 2 for invalid options.
 */
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { feed } from "./feeder.ts"
import { Journal, type Ledger, type ListedLink } from "./journal.ts"
import { isSettled, judge, type Shown, type ShownDeadLetter, type ShownState } from "./judge.ts"
import { Lives, type Life } from "./lives.ts"
import { authorIds, madePostOf, ruleTags } from "./made-posts.ts"
import { hookPath, startReceiver } from "./receiver.ts"
import { SluiceClient } from "./sluice-client.ts"

const usage = `oracle --journal DIR [options]; ready lines of "sluice dev --json" on standard input, then {"event":"finish","ends":n}
  --journal DIR          the oracle's record on disk
  --seed N               of the posts and of the receiver's moods (1)
  --posts-per-body N     (20)
  --concurrency N        bodies in flight at a time (4)
  --pause-ms N           mean pause of each sender after a response (60)
  --fail-rate N          part of the deliveries that are refused or dropped (0.02)
  --poison-every N       one post in so many is refused always, 0 for none (0)
  --response-ms-max N    longest that the receiver waits before it responds (60)
  --repeats-max N        most repeats for each link and each end of the server (64)
  --settle-seconds N     longest wait for a delivery at the end (20)`

/** Parameters of each link: its query string, and the resulting six members' `fields`. */
const linkQueries = ["", "?tweet.fields=created_at,author_id&expansions=author_id"]

/** Longest waits before the oracle gives up. An endless repetition is a fault too. */
const settleWaitsMax = 3

/** The line that `sluice dev --json` prints when it is ready, as far as the oracle needs it. */
interface ReadyLine {
  readonly event: "ready"
  readonly url: string
  readonly app: { readonly bearer_token: string; readonly consumer_secret: string }
}

/** The final line. */
interface FinishLine {
  readonly event: "finish"
  /** Number of the server's ends, of any kind. */
  readonly ends: number
}

const options = readOptions()
const { seed } = options
const postOf = (id: string): ReturnType<typeof madePostOf> => madePostOf(seed, id)

using journal = new Journal(options.journal)
const { ledger } = journal
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const lives = new Lives(beginLife(await readLine("ready")))
let lastWorking = 0
/** Number of the life whose deliveries the receiver holds. */
let heldLife: number | undefined

await using receiver = await startReceiver(
  {
    port: ledger.receiverPort ?? 0,
    seed,
    failRate: options.failRate,
    poisonEvery: options.poisonEvery,
    responseMsMax: options.responseMsMax,
    consumerSecret: () => lives.current.consumerSecret,
    postOf,
    onReceived: tellIfWorking,
    isHolding: () => heldLife === ledger.lives.length,
    onHeld: () => print({ event: "held" }),
  },
  journal,
)
if (ledger.receiverPort === undefined) journal.append({ kind: "receiver", port: receiver.port })
if (ledger.links === undefined) {
  await prepare(lives.current.client, receiver.port)
  journal.append({ kind: "linked", links: await listLinks(lives.current.client) })
}
if (ledger.links?.length !== linkQueries.length) throw new Error(`Not linked: ${JSON.stringify(ledger.links)}`)

const onAcknowledged = (): void => print({ event: "acknowledged" })
const feeding = new AbortController()
const fed = feed(options, { journal, lives, onAcknowledged, onNoted: tellIfWorking }, feeding.signal)
print({ event: "feeding", webhook_ids: ledger.links.map((link) => link.webhook_id) })
const { ends } = await liveOn()
feeding.abort()
await fed
await settle(lives.current.client)
const shown = await readShown(lives.current.client)
const faults = judge(ledger, shown, {
  postOf,
  repeatsMax: ends * options.repeatsMax,
})
print(verdict(faults))
process.exitCode = faults.length === 0 ? 0 : 1
// The open connections to the server must not keep the oracle alive.
process.stdin.destroy()

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        journal: { type: "string" },
        seed: { type: "string", default: "1" },
        "posts-per-body": { type: "string", default: "20" },
        concurrency: { type: "string", default: "4" },
        "pause-ms": { type: "string", default: "60" },
        "fail-rate": { type: "string", default: "0.02" },
        "poison-every": { type: "string", default: "0" },
        "response-ms-max": { type: "string", default: "60" },
        "repeats-max": { type: "string", default: "64" },
        "settle-seconds": { type: "string", default: "20" },
      },
    })
    if (values.journal === undefined) throw new Error("--journal is missing")
    return {
      journal: values.journal,
      seed: Number(values.seed),
      postsPerBody: Number(values["posts-per-body"]),
      concurrency: Number(values.concurrency),
      pauseMs: Number(values["pause-ms"]),
      failRate: Number(values["fail-rate"]),
      poisonEvery: Number(values["poison-every"]),
      responseMsMax: Number(values["response-ms-max"]),
      repeatsMax: Number(values["repeats-max"]),
      settleMs: Number(values["settle-seconds"]) * 1_000,
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}\n`)
    process.exit(2)
  }
}

/** Requests holding the deliveries of the present life. */
interface HoldLine {
  readonly event: "hold"
}

type Line = ReadyLine | HoldLine | FinishLine

/** Reads the next line of standard input, which must have one of these events. */
async function readLine<Event extends Line["event"]>(...events: readonly Event[]): Promise<Line & { event: Event }> {
  const { value, done } = await lines.next()
  if (done === true) throw new Error("Standard input ended without a line that says finish.")
  const read = JSON.parse(value) as Line
  if (!events.some((event) => event === read.event)) throw new Error(`Expected ${events.join(" or ")}: ${value}`)
  return read as Line & { event: Event }
}

/** Works with one life after the other until the final line. */
async function liveOn(): Promise<FinishLine> {
  let line = await readLine("ready", "hold", "finish")
  while (line.event !== "finish") {
    if (line.event === "hold") {
      heldLife = ledger.lives.length
    } else {
      lives.begin(beginLife(line))
      await compareLinks(lives.current)
    }
    line = await readLine("ready", "hold", "finish")
  }
  return line
}

function beginLife({ url, app }: ReadyLine): Life {
  journal.append({ kind: "life", url, app: JSON.stringify(app) })
  return { client: new SluiceClient(url, app.bearer_token), consumerSecret: app.consumer_secret }
}

/** Creates the rules, the webhooks and the links. */
async function prepare(client: SluiceClient, receiverPort: number): Promise<void> {
  await client.json("POST", "/2/tweets/search/stream/rules", {
    add: ruleTags.map((tag) => ({ value: tag, tag })),
  })
  for (const [number, query] of linkQueries.entries()) {
    const url = `http://127.0.0.1:${receiverPort}${hookPath(number)}`
    const { data } = (await client.json("POST", "/2/webhooks", { url })) as { data: { id: string } }
    await client.json("POST", `/2/tweets/search/webhooks/${data.id}${query}`)
  }
}

/** Oldest first, in order of creation; the server lists them newest first. */
async function listLinks(client: SluiceClient): Promise<readonly ListedLink[]> {
  const { data } = (await client.json("GET", "/2/tweets/search/webhooks")) as {
    data: { links: ListedLink[] }
  }
  return data.links.toReversed()
}

/** The links must exist from the first moment of a life; another check covers its end. */
async function compareLinks({ client }: Life): Promise<void> {
  try {
    const [before, now] = [JSON.stringify(ledger.links), JSON.stringify(await listLinks(client))]
    if (now !== before)
      journal.append({ kind: "fault", text: `after a start the links are ${now}, and were ${before}` })
  } catch {
    // This life has ended already.
  }
}

/** Waits until the store accounts for every match, or until nothing has come for the longest wait. */
async function settle(client: SluiceClient): Promise<void> {
  let seen = -1
  const startedAtMs = performance.now()
  let lastSeenAtMs = startedAtMs
  while (
    performance.now() - lastSeenAtMs < options.settleMs &&
    performance.now() - startedAtMs < settleWaitsMax * options.settleMs
  ) {
    const received = ledger.lives.at(-1)?.received ?? 0
    if (received !== seen) [seen, lastSeenAtMs] = [received, performance.now()]
    const states = await linkStates(client)
    if (states.every(isSettled)) break
    await sleep(50)
  }
  // A mistaken repeat arrives within this time.
  await sleep(300)
}

async function linkStates(client: SluiceClient): Promise<readonly ShownState[]> {
  const { data } = (await client.json("GET", "/sluice/v1/links")) as { data: readonly ShownState[] }
  return data
}

async function listDeadLetters(client: SluiceClient): Promise<readonly ShownDeadLetter[]> {
  return allPages<ShownDeadLetter>(client, "/sluice/v1/dead-letters?max_results=100")
}

async function readShown(client: SluiceClient): Promise<Shown> {
  const stored: { authorId: string; ids: readonly string[] }[] = []
  for (const authorId of authorIds) stored.push({ authorId, ids: await storedIds(client, authorId) })
  return {
    stored,
    links: await listLinks(client),
    states: await linkStates(client),
    deadLetters: await listDeadLetters(client),
  }
}

/** Ids of a user's posts, page by page to the end. */
async function storedIds(client: SluiceClient, authorId: string): Promise<readonly string[]> {
  const posts = await allPages<{ id: string }>(client, `/2/users/${authorId}/tweets?max_results=100`)
  return posts.map(({ id }) => id)
}

/** Reads a list to its end. */
async function allPages<Item>(client: SluiceClient, path: string): Promise<readonly Item[]> {
  const items: Item[] = []
  let token: string | undefined
  do {
    const position = token === undefined ? "" : `&pagination_token=${token}`
    const page = (await client.json("GET", path + position)) as {
      data?: readonly Item[]
      meta?: { next_token?: string }
    }
    items.push(...(page.data ?? []))
    token = page.meta?.next_token
  } while (token !== undefined)
  return items
}

function verdict(found: readonly string[]): Record<string, unknown> {
  return {
    event: "verdict",
    clean: found.length === 0,
    fault_count: found.length,
    faults: found.slice(0, 20),
    acknowledged: ledger.acknowledgedIds.size,
    matching: matchingCount(ledger),
    dead_letters: shown.deadLetters.length,
    links: ledger.received.map(({ events, repeats, refused }) => ({ events: events.size, repeats, refused })),
    lives: ledger.lives,
  }
}

function matchingCount({ acknowledgedIds }: Ledger): number {
  return [...acknowledgedIds].filter((id) => (postOf(id)?.tags.length ?? 0) > 0).length
}

/** Reports once in each life that the server acknowledges and delivers. */
function tellIfWorking(): void {
  const [life, figures] = [ledger.lives.length, ledger.lives.at(-1)]
  if (figures === undefined || life === lastWorking) return
  if (figures.acknowledged === 0 || figures.received === 0) return
  lastWorking = life
  print({ event: "working", life })
}

function print(line: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
