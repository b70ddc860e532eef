import { badResponse } from "./errors.ts"

/** The part of a page that leads to its neighbours. */
export interface Page {
  readonly meta?: { readonly next_token?: string | undefined; readonly previous_token?: string | undefined } | undefined
}

/**
 * Page after page, until one has no `next_token` or, towards newer items, no `previous_token`. Throws `ApiError` when the
 * tokens lead in a circle: it remembers one token, replaced at each power of two (Brent's algorithm), and so finds a circle
 * of any length without keeping all tokens.
 */
export async function* pages<Body extends Page>(
  read: (paginationToken: string | undefined) => Promise<Body>,
  direction: "older" | "newer" = "older",
): AsyncGenerator<Body, void, void> {
  let token: string | undefined
  let remembered: string | undefined
  for (let count = 1, renewAt = 2; ; count++) {
    const body = await read(token)
    yield body
    token = direction === "older" ? body.meta?.next_token : body.meta?.previous_token
    if (token === undefined) return
    if (token === remembered) throw badResponse("The server returns the same page again and again.")
    if (count < renewAt && remembered !== undefined) continue
    remembered = token
    renewAt = count * 2
  }
}
