/**
 * The comparison at the end: what was acknowledged and received, with what the server shows and what must be.
 * Every fault is a sentence; none means that the property was kept.
 */
import type { Ledger, ListedLink, ReceivedOfLink } from "./journal.ts"
import type { MadePost } from "./made-posts.ts"

/** What the server shows at the end. */
export interface Shown {
  /** Posts of each author, in the order of the pages. */
  readonly stored: readonly { readonly authorId: string; readonly ids: readonly string[] }[]
  readonly links: readonly ListedLink[]
  /** Members of each link's state, by webhook. */
  readonly states: readonly Readonly<Record<string, unknown>>[]
}

/** Everything that is wrong, in words. `repeatsMax`: most repeats for each link, over all ends of the server. */
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
      return [
        ...deliveryFaults(received, matching),
        ...positionFaults(received, state),
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
        ...(sorted.every((id, index) => id === ids[index])
          ? []
          : [`the posts of user ${authorId} are out of order`]),
      ]
    }),
  ]
}

function deliveryFaults(
  { events, eventOfPost }: ReceivedOfLink,
  matching: readonly string[],
): readonly string[] {
  const expected = new Set(matching)
  const missing = matching.filter((id) => (events.get(eventOfPost.get(id) ?? "")?.taken ?? 0) === 0)
  const strange = [...eventOfPost.keys()].filter((id) => !expected.has(id))
  return [...some(missing, "matching and not delivered"), ...some(strange, "delivered and not matching")]
}

/** An event's id ends in its position. The links are made before the first post, so positions count from 1. */
function positionFaults(
  { events }: ReceivedOfLink,
  state: Shown["states"][number] | undefined,
): readonly string[] {
  const positions = [...events.keys()].map((id) => Number(/_(\d+)$/.exec(id)?.[1])).toSorted((a, b) => a - b)
  const gap = positions.findIndex((position, index) => position !== index + 1)
  const { position, head } = state ?? {}
  return [
    ...(gap === -1 ? [] : [`has position ${positions[gap]} where ${gap + 1} was to come`]),
    ...(position === head && position === events.size
      ? []
      : [`is at position ${String(position)} of ${String(head)}, after ${events.size} different events`]),
  ]
}

/** One sentence for all ids of a kind; none when there are none. */
function some(ids: readonly string[], what: string): readonly string[] {
  return ids.length === 0
    ? []
    : [`${ids.length} posts ${what}: ${ids.slice(0, 5).join(", ")}${ids.length > 5 ? ", …" : ""}`]
}
