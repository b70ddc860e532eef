/**
 * The comparison at the end: acknowledged and received posts against the server's state and the promises. Every fault
 * is a sentence; no sentence means that the promises were kept.
 */
import type { Ledger, ListedLink, ReceivedOfLink } from "./journal.ts"
import type { MadePost } from "./made-posts.ts"

/** State of a link as the server shows it, as far as the judge needs it. */
export interface ShownState {
  readonly webhook_id: string
  readonly position: number
  readonly head: number
  /** The totals of its matches; each match counts once. */
  readonly total: Readonly<Record<"delivered" | "retrying" | "dead_letters" | "expired" | "missed", number>>
  /** Ranges that retention removed before the link had read them, both ends included. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[]
}

/** A match that the server lists as a dead letter. */
export interface ShownDeadLetter {
  readonly webhook_id: string
  readonly event_id: string
  readonly post_id: string
}

/** The server's state at the end. */
export interface Shown {
  /** Posts of each author, in the order of the pages. */
  readonly stored: readonly { readonly authorId: string; readonly ids: readonly string[] }[]
  readonly links: readonly ListedLink[]
  readonly states: readonly ShownState[]
  readonly deadLetters: readonly ShownDeadLetter[]
}

/** True when a link has delivered everything and saved its progress. */
export function isSettled({ position, head, total }: ShownState): boolean {
  return position === head && total.retrying === 0 && sum(Object.values(total)) === head
}

/** Every fault, in words. `repeatsMax`: most repeats for each link, over all ends of the server. */
export function judge(
  ledger: Ledger,
  shown: Shown,
  { postOf, repeatsMax }: { postOf: (id: string) => MadePost | undefined; repeatsMax: number },
): readonly string[] {
  const links = ledger.links ?? []
  const matching = [...ledger.acknowledgedIds].filter((id) => (postOf(id)?.tags.length ?? 0) > 0)
  return [
    ...ledger.faults,
    ...storeFaults(ledger, shown, postOf),
    ...links.flatMap((link, number) => {
      const received = ledger.received[number] ?? nothing
      const state = shown.states.find((each) => each.webhook_id === link.webhook_id)
      if (state === undefined) return [`link ${number}: has no state`]
      const dead = shown.deadLetters.filter((each) => each.webhook_id === link.webhook_id)
      return [
        ...deliveryFaults(received, matching, state, dead),
        ...positionFaults(received, state, dead),
        ...accountFaults(state, dead),
        ...(received.repeats > repeatsMax
          ? [`${received.repeats} deliveries were repeated, where ${repeatsMax} may be`]
          : []),
      ].map((fault) => `link ${number}: ${fault}`)
    }),
    ...(JSON.stringify(shown.links) === JSON.stringify(links)
      ? []
      : [`the links were ${JSON.stringify(links)} and are now ${JSON.stringify(shown.links)}`]),
  ]
}

const nothing: ReceivedOfLink = { events: new Map(), eventOfPost: new Map(), repeats: 0, refused: 0 }

function storeFaults(
  ledger: Ledger,
  { stored }: Shown,
  postOf: (id: string) => MadePost | undefined,
): readonly string[] {
  const found = new Set(stored.flatMap(({ ids }) => ids))
  const lost = [...ledger.acknowledgedIds].filter((id) => !found.has(id))
  const strange = [...found].filter((id) => !ledger.acknowledgedIds.has(id))
  return [
    ...some(lost, "acknowledged and not in the store"),
    ...some(strange, "in the store and never acknowledged"),
    ...stored.flatMap(({ authorId, ids }) => {
      const sorted = ids.toSorted((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1))
      const others = ids.filter((id) => postOf(id)?.authorId !== authorId)
      return [
        ...some(others, `listed for user ${authorId}, who did not write them`),
        ...(new Set(ids).size === ids.length ? [] : [`user ${authorId} has posts that are listed twice`]),
        ...(sorted.every((id, index) => id === ids[index]) ? [] : [`the posts of user ${authorId} are out of order`]),
      ]
    }),
  ]
}

/** A match that did not arrive must be a dead letter or lie in a gap. A gap has positions, and no posts. */
function deliveryFaults(
  { events, eventOfPost }: ReceivedOfLink,
  matching: readonly string[],
  { total }: ShownState,
  dead: readonly ShownDeadLetter[],
): readonly string[] {
  const expected = new Set(matching)
  const given = new Set(dead.map(({ post_id: id }) => id))
  const missing = matching.filter((id) => (events.get(eventOfPost.get(id) ?? "")?.taken ?? 0) === 0 && !given.has(id))
  const strange = [...eventOfPost.keys(), ...given].filter((id) => !expected.has(id))
  return [
    ...(missing.length > total.missed + total.expired ? some(missing, "matching and not delivered") : []),
    ...some(strange, "delivered and not matching"),
  ]
}

/** An event's id ends in its position. The links are older than the first post, so positions count from 1. */
function positionFaults(
  { events }: ReceivedOfLink,
  { position, head, gaps, total }: ShownState,
  dead: readonly ShownDeadLetter[],
): readonly string[] {
  const known = new Set(
    [...events.keys(), ...dead.map(({ event_id: id }) => id)].map((id) => Number(/_(\d+)$/.exec(id)?.[1])),
  )
  const unknown = range(1, head).filter(
    (each) => !known.has(each) && !gaps.some(({ from, to }) => from <= each && each <= to),
  )
  const beyond = [...known].filter((each) => !(each <= head))
  return [
    ...(unknown.length > total.expired
      ? [`positions ${unknown.slice(0, 5).join()} of ${head} are neither delivered nor accounted for`]
      : []),
    ...(beyond.length > 0 ? [`has positions ${beyond.slice(0, 5).join()}, and ${head} is the last`] : []),
    ...(position === head ? [] : [`is at position ${position} of ${head}`]),
  ]
}

/** The server's totals must add up, and agree with its lists. */
function accountFaults({ head, total, gaps }: ShownState, dead: readonly ShownDeadLetter[]): readonly string[] {
  const accounted = sum(Object.values(total))
  const inGaps = sum(gaps.map(({ from, to }) => to - from + 1))
  return [
    ...(accounted === head ? [] : [`accounts for ${accounted} of ${head} matches: ${JSON.stringify(total)}`]),
    ...(total.retrying === 0 ? [] : [`still has ${total.retrying} retries`]),
    ...(total.missed === inGaps ? [] : [`has missed ${total.missed}, and gaps of ${inGaps}`]),
    ...(total.dead_letters === dead.length ? [] : [`has ${total.dead_letters} dead letters, and lists ${dead.length}`]),
  ]
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** One sentence for all ids of a kind; none for no ids. */
function some(ids: readonly string[], what: string): readonly string[] {
  return ids.length === 0
    ? []
    : [`${ids.length} posts ${what}: ${ids.slice(0, 5).join(", ")}${ids.length > 5 ? ", …" : ""}`]
}
