import type { ApiClient } from "./api-client.ts"
import { Failure } from "./failure.ts"

/** The part of every list answer that leads on. */
export interface PageMeta {
  readonly result_count: number
  readonly next_token?: string
  readonly previous_token?: string
}

/** Page after page of a list, until one has no `next_token`. */
export async function* pages<Body extends { readonly meta?: PageMeta }>(
  client: ApiClient,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  signal?: AbortSignal,
): AsyncGenerator<Body, void, void> {
  let token: string | undefined
  do {
    const body = await client.request<Body>("GET", path, {
      query: { ...query, pagination_token: token },
      ...(signal === undefined ? {} : { signal }),
    })
    yield body
    const next = body.meta?.next_token
    if (next !== undefined && next === token)
      throw new Failure("The server answers with the same page again and again.")
    token = next
  } while (token !== undefined)
}
