/**
 * The arithmetic of docs/scale.md: what X's loads would take, from the measured figures.
 *
 * Processor times are upper bounds: the two cores of a run divided by its rate. The feeder and the endpoints ran on the
 * same two cores, so a post or a delivery took less.
 */
import { markdownTable } from "./tables.ts"
import { printed, type FindFigure } from "./runs.ts"

const coresMeasured = 2

/**
 * Source: Twitter's engineering blog, "New Tweets per second record, and how!", 2013: 500 million posts a day, which is 6,000 a
 * second rounded up, and the record. The matches are the mean of the selective rules of the bench `match`.
 */
const xs = { postsPerSecond: 6_000, matchesPerPost: 4.75, rules: 1_000_000, recordPostsPerSecond: 143_199 } as const

/** Estimated: a row of `matches` and its two indexes. */
const matchLogBytes = 350

/** The values that the pages print: numbers by name, and the table of X's mean. */
export interface Scale {
  readonly computed: ReadonlyMap<string, string>
  readonly meanTable: string
}

/** Computes the numbers of docs/scale.md. */
export function computeScale(find: FindFigure): Scale {
  const postUs = (coresMeasured * 1e6) / find("cluster-ingest-1").value
  const deliveryUs = (coresMeasured * 1e6) / find("cluster-deliver-1-to-20").value
  const [selectiveUs, usualUs] = ["1m-selective", "1m"].map((set) => matchingUs(find, set)) as [number, number]
  const matches = xs.postsPerSecond * xs.matchesPerPost
  const cores = (perSecond: number, eachUs: number): number => (perSecond * eachUs) / 1e6
  const [postCores, deliveryCores] = [cores(xs.postsPerSecond, postUs), cores(matches, deliveryUs)]
  const [databasePost, databaseDelivery] = [databaseShare(find, "post"), databaseShare(find, "delivery")]
  const databaseCores = postCores * databasePost + deliveryCores * databaseDelivery
  const allCores = postCores + deliveryCores + cores(xs.postsPerSecond, usualUs)
  const walBytes = find("cluster-post-wal-without-page-images").value
  const deliveryWal = [
    find("cluster-delivery-wal-without-page-images").value,
    find("cluster-delivery-wal-without-page-images", "2026-11-22").value,
  ]
  const megabytes = (perSecond: number, bytes: number): string =>
    `${printed(Number(((perSecond * bytes) / 1e6).toPrecision(2)))} MB/s`
  const [posts, deliveries] = [printed(xs.postsPerSecond), printed(matches)]
  const rows = [
    ["posts: read, matched with 10,000 rules, stored", `${posts} × ${us(postUs)}`, `${tenth(postCores)} cores`],
    [
      "matching 1,000,000 rules instead of 10,000",
      `${posts} × ${printed(Math.round(selectiveUs))} to ${us(usualUs)}`,
      `${tenth(cores(xs.postsPerSecond, selectiveUs))} to ${tenth(cores(xs.postsPerSecond, usualUs))} cores`,
    ],
    ["deliveries by webhook", `${deliveries} × ${us(deliveryUs)}`, `${tenth(deliveryCores)} cores`],
    [
      "PostgreSQL's part of posts and deliveries",
      `${percent(databasePost)} and ${percent(databaseDelivery)} of them`,
      `${tenth(databaseCores)} cores`,
    ],
    [
      "the rules, in each process",
      `1,000,000 × ${printed(find("match-bytes-per-rule-1m").value)} bytes, and their texts`,
      "some hundred MB",
    ],
    ["write-ahead log of posts", `${posts} × ${printed(walBytes / 1000)} KB`, megabytes(xs.postsPerSecond, walBytes)],
    [
      "write-ahead log of matches",
      `${deliveries} × about ${matchLogBytes} bytes, estimated`,
      megabytes(matches, matchLogBytes),
    ],
    [
      "write-ahead log of deliveries",
      `${deliveries} × ${deliveryWal.map(printed).join(" to ")} bytes`,
      deliveryWal.map((bytes) => megabytes(matches, bytes)).join(" to "),
    ],
    [
      "commits of posts",
      "batches of 500 and of 100 posts",
      `${xs.postsPerSecond / 500} to ${xs.postsPerSecond / 100} flushes a second`,
    ],
    [
      "the same matches down stream connections",
      "each process reads them once; nothing is written",
      "little next to webhooks",
    ],
  ]
  const backlogPosts = (xs.recordPostsPerSecond - 2 * xs.postsPerSecond) * 60
  const computed = new Map(
    Object.entries({
      "scale.post-us": printed(Math.round(postUs)),
      "scale.delivery-us": printed(Math.round(deliveryUs)),
      "scale.matches": deliveries,
      "scale.cores": tenth(allCores),
      "scale.database-cores": tenth(databaseCores),
      "scale.cores-with-reserve": printed(Math.ceil(allCores * 3)),
      "scale.database-cores-with-reserve": printed(Math.ceil(databaseCores * 3)),
      "scale.deliveries-of-16-cores": printed(Number((16e6 / deliveryUs).toPrecision(2))),
      "scale.record-times-mean": printed(Math.round(xs.recordPostsPerSecond / xs.postsPerSecond)),
      "scale.record-cores": printed(Math.round(cores(xs.recordPostsPerSecond, postUs))),
      "scale.record-wal": printed(Math.round((xs.recordPostsPerSecond * walBytes) / 1e7) * 10),
      "scale.record-minutes": printed(Math.round(backlogPosts / xs.postsPerSecond / 60)),
      "scale.posts-of-log-low": printed(100e6 / walBytes),
      "scale.posts-of-log-high": printed(200e6 / walBytes),
      "scale.terabytes-a-day": tenth((xs.postsPerSecond * find("cluster-post-bytes-stored").value * 86_400) / 1e12),
      "scale.hundred-times-rules": tenth(find("match-from-bytes-100k").value / find("match-from-bytes-1k").value),
    }),
  )
  return { computed, meanTable: markdownTable(["Item", "Arithmetic", "Takes"], rows) }
}

/** Microseconds that matching takes longer with a set of a million rules than with 10,000. */
function matchingUs(find: FindFigure, set: string): number {
  const few = find("match-from-bytes-10k")
  const parseUs = few.value / (few.ratio ?? Number.NaN)
  return (find(`match-from-bytes-${set}`).ratio ?? Number.NaN) * parseUs - few.value
}

/** PostgreSQL's share of the processor time of a post or a delivery, by the middle of each range. */
function databaseShare(find: FindFigure, what: "post" | "delivery"): number {
  const middle = (where: string): number => {
    const { value, highest = value } = find(`cluster-${what}-processor-${where}`)
    return (value + highest) / 2
  }
  return middle("postgresql") / (middle("postgresql") + middle("process"))
}

function tenth(value: number): string {
  return value.toFixed(1)
}

function us(value: number): string {
  return `${printed(Math.round(value))} µs`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`
}
