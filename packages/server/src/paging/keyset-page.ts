/**
 * Pages of a list that is ordered by id, newest first.
 *
 *     newest                                                          oldest
 *     ──┬──────────────────┬───────────────────────────┬─────────────────┬──
 *       │  previous page   │         this page         │    next page    │
 *       │                  │ first                last │                 │
 *                          ▲                           ▲
 *            previous_token: newer than `first`    next_token: older than `last`
 *
 * A token names an item of the page that it came with, not a page number, so nothing that is inserted elsewhere
 * moves a page's edge, and the ten thousandth page costs what the first one costs: one seek. The page before this
 * one ends exactly where this one begins; read from there again, it can be made of other items than the last time
 * when some were inserted.
 *
 * Each read asks for one item more than the page holds, which shows whether there are more.
 */
import type { PageMeta } from "@sluice/api"
import type { KeysetRange } from "../store/keyset-range.ts"
import type { PagePosition, PageScope, PageTokens } from "./page-token.ts"

/** A page's items, newest first, and its meta: the count and the tokens of the neighbouring pages. */
export interface KeysetPage<Item> {
  readonly items: readonly Item[]
  readonly meta: PageMeta
}

/** An item of a list, which is ordered by the ids. */
interface Identified {
  readonly id: string
}

/** The result of scanning a range of a list. */
export interface Scan<Item extends Identified> {
  /** Newest first, at most as many as requested, the nearest to where the range begins. */
  readonly items: readonly Item[]
  /** The last id that was scanned, when the scan stopped before the end of the list; else absent. */
  readonly stoppedAt?: Item["id"]
}

interface PageOptions {
  readonly tokens: PageTokens
  readonly scope: PageScope
  /** Absent for the first page. */
  readonly token: string | undefined
  /** Most items on the page. */
  readonly limit: number
}

/**
 * One page of any list. `read` returns the items of a range, newest first, all that there are up to its limit.
 *
 * `next_token` is there exactly when older items exist, `previous_token` on every page that a `next_token` led to
 * and, on the way back, as long as newer items exist. Throws the `Problem` of an invalid token.
 */
export async function keysetPage<Item extends Identified>(
  options: PageOptions & { readonly read: (range: KeysetRange<Item["id"]>) => Promise<readonly Item[]> },
): Promise<KeysetPage<Item>> {
  return scannedPage({ ...options, scan: async (range) => ({ items: await options.read(range) }) })
}

/**
 * One page of a filtered list, whose scan may stop early. Then the page is short, maybe empty, and
 * its token goes on from where the scan stopped; only the absence of `next_token` means the end.
 */
export async function scannedPage<Item extends Identified>(
  options: PageOptions & { readonly scan: (range: KeysetRange<Item["id"]>) => Promise<Scan<Item>> },
): Promise<KeysetPage<Item>> {
  const { tokens, scope, token } = options
  const position = token === undefined ? undefined : tokens.read(scope, token)
  const stretch = options as unknown as Stretch<Item>
  const page = position?.direction === "newer" ? await newerPage(stretch, position) : await olderPage(stretch, position)
  return {
    items: page.items,
    meta: {
      result_count: page.items.length,
      ...(page.next !== undefined && { next_token: tokens.issue(scope, page.next) }),
      ...(page.previous !== undefined && { previous_token: tokens.issue(scope, page.previous) }),
    },
  }
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next: PagePosition | undefined
  readonly previous: PagePosition | undefined
}

/** A list without the brand of its ids: in a token every id is digits. The seal says that they came from this list. */
interface Stretch<Item extends Identified> {
  readonly limit: number
  readonly scan: (range: KeysetRange<string>) => Promise<Scan<Item>>
}

/** The page that begins after `position`, or at the newest item. */
async function olderPage<Item extends Identified>(
  { limit, scan }: Stretch<Item>,
  position: PagePosition | undefined,
): Promise<Page<Item>> {
  const found = await scan({ direction: "older", ...(position && { from: position.from }), limit: limit + 1 })
  const items = found.items.slice(0, limit)
  const [first, last] = [items.at(0), items.at(-1)]
  const endsAt = found.items.length > limit && last !== undefined ? last.id : found.stoppedAt
  return {
    items,
    next: endsAt === undefined ? undefined : { direction: "older", from: endsAt },
    previous: position && {
      direction: "newer",
      from: first === undefined ? before(position.from) : first.id,
    },
  }
}

/** The page that ends before `position`. */
async function newerPage<Item extends Identified>(
  { limit, scan }: Stretch<Item>,
  position: PagePosition,
): Promise<Page<Item>> {
  const found = await scan({ direction: "newer", from: position.from, limit: limit + 1 })
  const items = found.items.slice(-limit)
  const [first, last] = [items.at(0), items.at(-1)]
  const beginsAt = found.items.length > limit && first !== undefined ? first.id : found.stoppedAt
  const next: PagePosition = {
    direction: "older",
    from: last === undefined ? after(position.from) : last.id,
  }
  // The items below were there when the token was issued; they may have been deleted since, or been behind a scan
  // that gave up before it had met any.
  const below = await scan({ ...next, limit: 1 })
  return {
    items,
    next: below.items.length > 0 || below.stoppedAt !== undefined ? next : undefined,
    previous: beginsAt === undefined ? undefined : { direction: "newer", from: beginsAt },
  }
}

// An empty page has no item to name, so its tokens name the id next to its edge: what lay on the other side of the
// edge lies on the other side of it still.

function before(id: string): string {
  return (BigInt(id) - 1n).toString()
}

function after(id: string): string {
  return (BigInt(id) + 1n).toString()
}
