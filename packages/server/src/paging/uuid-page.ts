/** Pages of a list that is ordered by UUIDs of version 7: to a page token, a UUID is the number that its digits write. */
import type { KeysetRange } from "../store/keyset-range.ts"
import { keysetPage, type KeysetPage } from "./keyset-page.ts"
import type { PageScope, PageTokens } from "./page-token.ts"

/** One page, as `keysetPage` makes it. `read` has UUIDs in its range. Throws the `Problem` of an invalid token. */
export async function uuidPage<Item extends { readonly id: string }>(options: {
  readonly tokens: PageTokens
  readonly scope: PageScope
  readonly token: string | undefined
  readonly limit: number
  readonly read: (range: KeysetRange<string>) => Promise<readonly Item[]>
}): Promise<KeysetPage<Item>> {
  const { read, ...rest } = options
  const page = await keysetPage<{ readonly id: string; readonly item: Item }>({
    ...rest,
    read: async ({ from, ...range }) => {
      const items = await read({ ...range, ...(from !== undefined && { from: uuidOf(from) }) })
      return items.map((item) => ({ id: numberOf(item.id), item }))
    },
  })
  return { items: page.items.map(({ item }) => item), meta: page.meta }
}

function numberOf(uuid: string): string {
  return BigInt(`0x${uuid.replaceAll("-", "")}`).toString()
}

function uuidOf(number: string): string {
  const hex = BigInt(number).toString(16).padStart(32, "0")
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
}
