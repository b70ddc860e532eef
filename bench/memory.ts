/**
 * Memory under full ingest for minutes, while rules come and go: the resident memory of the server, and the lowest heap
 * of its main thread, at the end and when caches had just filled.
 *
 * The posts are real ones, sent again and again under new ids, two bodies at a time. Once the store has used the
 * allowed share of the disk, they come under ids that it has: the server reads, matches and looks them up, and does not
 * store them. Meanwhile rules are added, and the oldest deleted, some hundreds a second.
 */
import { statSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { createClient } from "../packages/client/src/index.ts"
import { metrics } from "./app-client.ts"
import { Envelopes } from "./envelopes.ts"
import { figure, quantile, type Figure } from "./figure.ts"
import { ruleTexts } from "./rule-mix.ts"
import { mixAbout, usual } from "./rules-about.ts"
import { startSluice, storeFileOf, type MeasuredSluice } from "./servers.ts"

const rulesKept = 10_000
/** Rules of a change, and the time between two changes. */
const changedRules = 50
const changeMs = 250
const bodyPosts = 2_000
/** Beyond it, posts come under known ids. */
const storeBytesMax = 20e9
const samples = 120

const firstId = 1_500_000_000_000_000_000n
/** From one id to the next: a millisecond, as ids of X count. */
const idStep = 4_194_304n

/** Time between two reads of the metrics, which are rendered once a second. */
const pollMs = 1_000

/** The server's memory at one moment. */
interface Sample {
  readonly minute: number
  readonly residentMb: number
  /** The minimum since the sample before: close to the size in use after a collection. */
  readonly heapMb: number
}

/** Prints how memory changes over this many minutes, and a line for each sample on standard error. */
export async function memory(
  print: (figure: Figure) => void,
  { isQuick, minutes = isQuick ? 3 : 30 }: { readonly isQuick: boolean; readonly minutes?: number | undefined },
): Promise<void> {
  const envelopes = Envelopes.read()
  await using sluice = await startSluice()
  const rules = new PassingRules(sluice, ruleTexts(mixAbout(envelopes, usual)))
  while (rules.count < rulesKept) await rules.add(1_000)

  const isOver = AbortSignal.timeout(minutes * 60_000)
  const sent = { posts: 0 }
  const bodies = endlessBodies(envelopes, () => statSync(storeFileOf(sluice)).size < storeBytesMax)
  const [taken] = await Promise.all([
    takeSamples(sluice, minutes, isOver),
    sendBodies(sluice, bodies, isOver, sent),
    sendBodies(sluice, bodies, isOver, sent),
    changeRules(rules, isOver),
  ])
  process.stderr.write(
    `${sent.posts} posts and ${rules.changes} changes of ${changedRules} rules in ${minutes} minutes; ` +
      `resident memory changed by ${slopeOf(taken).toFixed(2)} MB a minute over the last four fifths\n`,
  )
  const [early, late] = [taken.slice(taken.length * 0.2, taken.length * 0.4), taken.slice(taken.length * -0.2)]
  for (const [name, key] of [
    ["memory-resident", "residentMb"],
    ["memory-heap", "heapMb"],
  ] as const) {
    const middle = (of: readonly Sample[]): number =>
      quantile(
        of.map((sample) => sample[key]),
        0.5,
      )
    const limitIs = `in the second fifth of ${minutes} minutes`
    print(figure({ name, value: middle(late), unit: "MB", limit: middle(early), limitIs }, { atMost: 1.1 }))
  }
}

async function takeSamples(sluice: MeasuredSluice, minutes: number, isOver: AbortSignal): Promise<readonly Sample[]> {
  const taken: Sample[] = []
  const startMs = performance.now()
  const sampleMs = (minutes * 60_000) / samples
  let heapMb = Number.POSITIVE_INFINITY
  while (!isOver.aborted) {
    await sleep(Math.min(pollMs, sampleMs))
    const now = await metrics(sluice)
    const mb = (name: string): number => (now.get(name) ?? Number.NaN) / 1e6
    const minute = (performance.now() - startMs) / 60_000
    heapMb = Math.min(heapMb, mb("nodejs_heap_size_used_bytes"))
    if (minute * 60_000 < sampleMs * (taken.length + 1)) continue
    const sample = { minute, residentMb: mb("process_resident_memory_bytes"), heapMb }
    heapMb = Number.POSITIVE_INFINITY
    taken.push(sample)
    process.stderr.write(
      `${sample.minute.toFixed(1)} min: ${sample.residentMb.toFixed(0)} MB resident, ${sample.heapMb.toFixed(0)} MB heap, ` +
        `${now.get("sluice_rules") ?? 0} rules\n`,
    )
  }
  return taken
}

async function sendBodies(
  sluice: MeasuredSluice,
  bodies: Iterator<Buffer, never>,
  isOver: AbortSignal,
  sent: { posts: number },
): Promise<void> {
  while (!isOver.aborted) {
    await createClient(sluice).request("POST", "posts", { body: bodies.next().value })
    sent.posts += bodyPosts
  }
}

/** Bodies of the posts, one after the other: under new ids while `isNew`, then under those of earlier bodies. */
function* endlessBodies(envelopes: Envelopes, isNew: () => boolean): Generator<Buffer, never> {
  // Cuts each post at its ids once, so that making a body only joins the parts.
  const cut = Array.from({ length: envelopes.count }, (_, index) => {
    const text = envelopes.text(index)
    const { id } = (JSON.parse(text) as { data: { id: string } }).data
    return text.split(`"${id}"`)
  })
  for (let [fresh, repeated] = [0, 0]; ;) {
    const number = isNew() ? fresh++ : repeated++ % fresh
    const lines = Array.from({ length: bodyPosts }, (_, at) => {
      const index = number * bodyPosts + at
      const id = firstId + BigInt(index) * idStep
      return `${(cut[index % cut.length] ?? []).join(`"${id}"`)}\n`
    })
    yield Buffer.from(lines.join(""))
  }
}

async function changeRules(rules: PassingRules, isOver: AbortSignal): Promise<void> {
  while (!isOver.aborted) {
    await rules.add(changedRules)
    await rules.deleteOldest(changedRules)
    await sleep(changeMs)
  }
}

/** Adds rules of an app and deletes its oldest. */
class PassingRules {
  readonly #client
  readonly #texts: Iterator<string, never>
  /** By text, oldest first: a mix repeats some texts. */
  readonly #ids = new Map<string, string>()
  changes = 0

  constructor(sluice: MeasuredSluice, texts: Iterator<string, never>) {
    this.#client = createClient(sluice)
    this.#texts = texts
  }

  get count(): number {
    return this.#ids.size
  }

  async add(count: number): Promise<void> {
    const values = new Set<string>()
    while (values.size < count) {
      const text = this.#texts.next().value
      if (!this.#ids.has(text)) values.add(text)
    }
    const { data = [] } = await this.#client.request("POST", "rules", {
      body: { add: Array.from(values, (value) => ({ value })) },
    })
    for (const { id, value } of data) this.#ids.set(value, id)
    this.changes += 1
  }

  async deleteOldest(count: number): Promise<void> {
    const oldest = [...this.#ids.entries().take(count)]
    await this.#client.request("POST", "rules", { body: { delete: { ids: oldest.map(([, id]) => id) } } })
    for (const [text] of oldest) this.#ids.delete(text)
    this.changes += 1
  }
}

/** The slope by least squares, in MB of resident memory a minute. */
function slopeOf(taken: readonly Sample[]): number {
  const late = taken.slice(taken.length / 5)
  const mean = (of: (sample: Sample) => number): number => late.reduce((sum, one) => sum + of(one), 0) / late.length
  const [minute, resident] = [mean((one) => one.minute), mean((one) => one.residentMb)]
  const covariance = mean((one) => (one.minute - minute) * (one.residentMb - resident))
  return covariance / mean((one) => (one.minute - minute) ** 2)
}
