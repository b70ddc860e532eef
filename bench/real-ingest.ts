/**
 * Ingest of real posts against 10,000 rules: the posts that several benches send, and the rate at which the server
 * accepts them.
 */
import { sendPosts, type MeasuredApp } from "./app-client.ts"
import type { Envelopes } from "./envelopes.ts"
import { ruleTexts } from "./rule-mix.ts"
import { mixAbout, usual } from "./rules-about.ts"

const ruleCount = 10_000

/** Returns the rules of an ingest measurement, each different, of the usual mix. */
export function someRules(envelopes: Envelopes): readonly string[] {
  const texts = ruleTexts(mixAbout(envelopes, usual))
  const rules = new Set<string>()
  while (rules.size < ruleCount) rules.add(texts.next().value)
  return [...rules]
}

/** Posts of one round, as NDJSON. */
export interface RoundOfPosts {
  readonly bodies: readonly Buffer[]
  readonly firstId: string
  readonly lastId: string
  readonly count: number
}

/**
 * Every `step`th of the posts as NDJSON bodies, under ids that no other round has: those of a round lie between its
 * first and its last.
 */
export function bodiesOf(
  envelopes: Envelopes,
  { round, perBody, step = 1 }: { readonly round: number; readonly perBody: number; readonly step?: number },
): RoundOfPosts {
  const count = Math.floor(envelopes.count / step)
  const roundId = 1_500_000_000_000_000_000n + BigInt(round) * 1_000_000_000_000n
  const idAt = (index: number): string => (roundId + BigInt(index) * 4_194_304n).toString()
  const bodies: Buffer[] = []
  for (let from = 0; from < count; from += perBody) {
    const lines = Array.from({ length: Math.min(perBody, count - from) }, (_, at) => {
      const text = envelopes.text((from + at) * step)
      const { id } = (JSON.parse(text) as { data: { id: string } }).data
      return `${text.replaceAll(`"${id}"`, `"${idAt(from + at)}"`)}\n`
    })
    bodies.push(Buffer.from(lines.join("")))
  }
  return { bodies, firstId: idAt(0), lastId: idAt(count - 1), count }
}

/** Posts per second, two bodies at a time to each of the servers, so that one is read while the other is stored. */
export async function sentPerSecond(apps: readonly MeasuredApp[], bodies: readonly Buffer[]): Promise<number> {
  const left = bodies.values()
  let posts = 0
  const startMs = performance.now()
  const worker = async (app: MeasuredApp): Promise<void> => {
    for (const body of left) {
      const count = countLines(body)
      await sendPosts(app, body, count)
      posts += count
    }
  }
  await Promise.all([...apps, ...apps].map(worker))
  return (posts / (performance.now() - startMs)) * 1000
}

function countLines(body: Buffer): number {
  let count = 0
  for (let end = body.indexOf(0x0a); end >= 0; end = body.indexOf(0x0a, end + 1)) count += 1
  return count
}
