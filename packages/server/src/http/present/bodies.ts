/** The shapes that the bodies of many routes share. */
import type { KeysetPage } from "../../paging/keyset-page.ts"

/** A body with one result. */
export function presentData<Data>(data: Data): { data: Data } {
  return { data }
}

/** A body with a whole list. */
export function presentList<Item, Shown>(
  items: readonly Item[],
  present: (item: Item) => Shown,
): { data: Shown[]; meta: { result_count: number } } {
  return { data: items.map(present), meta: { result_count: items.length } }
}

/** A body with a page of a list and the tokens of the pages next to it. */
export function presentPage<Item, Shown>(
  { items, meta }: KeysetPage<Item>,
  present: (item: Item) => Shown,
): { data: Shown[]; meta: KeysetPage<Item>["meta"] } {
  return { data: items.map(present), meta }
}
