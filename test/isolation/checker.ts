/**
 * Judges a history. It shares no code with the server: it knows the sent posts, the received deliveries, and the rules
 * that must hold.
 *
 * - Every link delivers each accepted post, and each list that begins later contains it, unless it is deleted.
 * - A deleted post is in no list that begins later, and nothing of it arrives once what was on its way has come. Its position
 * either comes or counts as withdrawn.
 * - Each event has one post and the same bytes whenever it comes. After the receiver accepted it, it comes again at
 * most as often as deliveries were in flight at the faults.
 * - Events of a link are numbered without gaps.
 * - A list has no post twice, and is in order.
 * - One version of the ruleset matches a post: both rules of a pair or none, the same over all links, and no version
 * that had ended or not begun when the post was sent. A change may take ten seconds to reach every process.
 */
import type { RuleChange, Seen } from "./history.ts"

/** Bounds that the server promises. */
export interface Promises {
  readonly links: number
  /** Most repeats over a link for each fault. */
  readonly repeatsPerFault: number
  /** Longest time that a change of rules takes. */
  readonly rulesMsMax: number
  /** Longest time after a deletion that a delivery may arrive which was on its way, be its process paused meanwhile. */
  readonly deletedMsMax: number
}

/** Every fault, in words. */
export function check(history: readonly Seen[], promises: Promises): readonly string[] {
  const of = <Kind extends Seen["kind"]>(kind: Kind) =>
    history.filter((seen): seen is Extract<Seen, { kind: Kind }> => seen.kind === kind)
  const accepted = of("accepted")
  const delivered = of("delivered")
  const faults = of("fault").length
  const finals = of("final")
  const deletedMs = new Map(of("deleted").flatMap(({ postIds, doneMs }) => postIds.map((id) => [id, doneMs] as const)))
  return [
    ...of("wrong").map(({ what }) => what),
    ...Array.from({ length: promises.links }, (_, link) => {
      const ofLink = delivered.filter((each) => each.link === link)
      const final = finals.find((each) => each.link === link)
      return [
        ...lost(accepted, ofLink, deletedMs),
        ...tooLate(ofLink, deletedMs, promises.deletedMsMax),
        ...otherwise(ofLink),
        ...repeated(ofLink, faults * promises.repeatsPerFault),
        ...misnumbered(ofLink, final),
      ].map((fault) => `link ${link}: ${fault}`)
    }).flat(),
    ...misread(accepted, of("listed"), deletedMs),
    ...mismatched(accepted, delivered, of("rules"), promises.rulesMsMax),
  ]
}

type Accepted = Extract<Seen, { kind: "accepted" }>
type Delivered = Extract<Seen, { kind: "delivered" }>
type Listed = Extract<Seen, { kind: "listed" }>
type Final = Extract<Seen, { kind: "final" }>

/** When posts were deleted, by their ids. */
type DeletedMs = ReadonlyMap<string, number>

function lost(accepted: readonly Accepted[], delivered: readonly Delivered[], deletedMs: DeletedMs): readonly string[] {
  const taken = new Set(delivered.filter(({ isTaken }) => isTaken).map(({ postId }) => postId))
  return some(
    accepted.flatMap(({ postIds }) => postIds).filter((id) => !taken.has(id) && !deletedMs.has(id)),
    "posts accepted and not delivered",
  )
}

function tooLate(delivered: readonly Delivered[], deletedMs: DeletedMs, msMax: number): readonly string[] {
  const late = delivered.filter(
    ({ postId, atMs }) => atMs > (deletedMs.get(postId) ?? Number.POSITIVE_INFINITY) + msMax,
  )
  return some([...new Set(late.map(({ postId }) => postId))], "posts came long after their deletion")
}

function otherwise(delivered: readonly Delivered[]): readonly string[] {
  const byEvent = Map.groupBy(delivered, ({ eventId }) => eventId)
  const byPost = Map.groupBy(delivered, ({ postId }) => postId)
  const differs = (all: readonly Delivered[], of: (one: Delivered) => string): boolean => new Set(all.map(of)).size > 1
  return [
    ...some(
      [...byEvent].filter(([, all]) => differs(all, ({ hash }) => hash)).map(([id]) => id),
      "events came with other bytes",
    ),
    ...some(
      [...byPost].filter(([, all]) => differs(all, ({ eventId }) => eventId)).map(([id]) => id),
      "posts came as several events",
    ),
  ]
}

function repeated(delivered: readonly Delivered[], max: number): readonly string[] {
  const taken = new Set<string>()
  let repeats = 0
  for (const { eventId, isTaken } of delivered) {
    if (taken.has(eventId)) repeats += 1
    if (isTaken) taken.add(eventId)
  }
  return repeats > max ? [`${repeats} deliveries were repeated, where ${max} may be`] : []
}

function misnumbered(delivered: readonly Delivered[], final: Final | undefined): readonly string[] {
  if (final === undefined) return ["has no state at the end"]
  const { position, head, total } = final
  const numbers = new Set(delivered.map(({ eventId }) => Number(/_(\d+)$/.exec(eventId)?.[1])))
  const missing = Array.from({ length: head }, (_, index) => index + 1).filter((number) => !numbers.has(number))
  const accounted = Object.values(total).reduce((sum, count) => sum + count, 0)
  return [
    ...(missing.length <= (total["withdrawn"] ?? 0) ? [] : some(missing.map(String), "positions never came")),
    ...some([...numbers].filter((number) => !(number <= head)).map(String), "positions are beyond the log"),
    ...(position === head && accounted === head && (total["delivered"] ?? 0) + (total["withdrawn"] ?? 0) === head
      ? []
      : [`ends at ${position} of ${head}, with ${JSON.stringify(total)}`]),
  ]
}

function misread(accepted: readonly Accepted[], lists: readonly Listed[], deletedMs: DeletedMs): readonly string[] {
  return lists.flatMap(({ authorId, postIds, beganMs }) => {
    const inOrder = postIds.every((id, index) => index === 0 || BigInt(id) < BigInt(postIds[index - 1] ?? 0))
    const found = new Set(postIds)
    const before = accepted.filter((each) => each.authorId === authorId && each.doneMs < beganMs)
    return [
      ...(inOrder ? [] : [`a list of user ${authorId} repeats posts, or has them out of order`]),
      ...some(
        postIds.filter((id) => (deletedMs.get(id) ?? Number.POSITIVE_INFINITY) < beganMs),
        `deleted posts are in a list of user ${authorId}`,
      ),
      ...some(
        before.flatMap((each) => each.postIds).filter((id) => !found.has(id) && !deletedMs.has(id)),
        `posts are left out of a list of user ${authorId}`,
      ),
    ]
  })
}

function mismatched(
  accepted: readonly Accepted[],
  delivered: readonly Delivered[],
  changes: readonly RuleChange[],
  rulesMsMax: number,
): readonly string[] {
  const times = new Map(accepted.flatMap((each) => each.postIds.map((id) => [id, each] as const)))
  const pairs = new Map(
    Array.from(
      Map.groupBy(changes, ({ pair }) => pair),
      ([pair, all]) => [pair, lifeOf(all)] as const,
    ),
  )
  const faults: string[] = []
  for (const [postId, all] of Map.groupBy(delivered, (each) => each.postId)) {
    const versions = new Set(all.map(({ tags }) => tags.toSorted().join()))
    if (versions.size > 1)
      faults.push(`post ${postId} was matched by ${versions.size} versions: ${[...versions].join(" | ")}`)
    const sent = times.get(postId)
    const tags = new Set(all[0]?.tags)
    for (const [pair, life] of pairs) {
      const [a, b] = [tags.has(`${pair}:a`), tags.has(`${pair}:b`)]
      if (a !== b) faults.push(`post ${postId} was matched by one rule of pair ${pair}`)
      const fault = sent === undefined ? undefined : untimely(a, life, sent, rulesMsMax)
      if (fault !== undefined) faults.push(`post ${postId} ${fault} pair ${pair}`)
    }
  }
  return faults.slice(0, 20)
}

/** The times at which a pair was added and deleted; a change with a late effect leaves the end open. */
interface Life {
  readonly addSentMs: number
  readonly addDoneMs: number
  readonly deleteSentMs: number
  readonly deleteDoneMs: number
}

function lifeOf(changes: readonly RuleChange[]): Life {
  const added = changes.find(({ change }) => change === "add")
  const deleted = changes.find(({ change }) => change === "delete")
  const never = Number.POSITIVE_INFINITY
  return {
    addSentMs: added?.sentMs ?? never,
    addDoneMs: added?.doneMs ?? never,
    deleteSentMs: deleted?.sentMs ?? never,
    deleteDoneMs: added?.isDoubtful === true ? never : (deleted?.doneMs ?? never),
  }
}

function untimely(
  isMatched: boolean,
  life: Life,
  { sentMs, doneMs }: Accepted,
  rulesMsMax: number,
): string | undefined {
  if (isMatched && life.addSentMs > doneMs) return "was matched before the addition of"
  if (isMatched && life.deleteDoneMs + rulesMsMax < sentMs) return "was matched after the deletion of"
  if (!isMatched && life.addDoneMs + rulesMsMax < sentMs && life.deleteSentMs > doneMs) return "was not matched by"
  return undefined
}

function some(ids: readonly string[], what: string): readonly string[] {
  return ids.length === 0 ? [] : [`${ids.length} ${what}: ${ids.slice(0, 5).join(", ")}${ids.length > 5 ? ", …" : ""}`]
}
