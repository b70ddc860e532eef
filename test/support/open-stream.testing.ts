/** The stream connection, read record by record. */
import { paths, type Envelope } from "@sluice/api"
import type { TestApp } from "./test-server.testing.ts"

/** A stream connection with an open response. */
export interface OpenStream extends AsyncDisposable {
  readonly response: Response
  /** The next record. */
  next(): Promise<Envelope>
  /** The next record as it came, without the end of its line. */
  nextText(): Promise<string>
}

/** Opens one, or another stream of the server. Throws when the server refuses it. */
export async function openStream(
  app: Pick<TestApp, "url" | "app">,
  query = "",
  path: string = paths.stream,
): Promise<OpenStream> {
  const leave = new AbortController()
  const response = await fetch(app.url + path + query, {
    headers: { Authorization: `Bearer ${app.app.bearer_token}` },
    signal: leave.signal,
  })
  if (response.status !== 200) throw new Error(`the stream was refused: ${await response.text()}`)
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let received = ""
  async function nextText(): Promise<string> {
    for (;;) {
      const end = received.indexOf("\r\n")
      const record = received.slice(0, end)
      if (end >= 0) received = received.slice(end + 2)
      if (end > 0) return record
      if (end >= 0) continue
      const chunk = await chunks?.read()
      if (chunk?.value === undefined) throw new Error("the stream has ended")
      received += chunk.value
    }
  }
  return {
    response,
    nextText,
    next: async () => JSON.parse(await nextText()) as Envelope,
    async [Symbol.asyncDispose]() {
      leave.abort()
      // Not `closed`: unread records would keep that waiting.
      await chunks?.cancel().catch(() => undefined)
    },
  }
}
