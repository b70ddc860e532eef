import { Unreachable, type ApiClient } from "./api-client.ts"

/** Longest silence on a stream connection before it is taken for dead. X promises a sign every 20 s. */
const silenceMsMax = 30_000

/** Most characters of one record. Ours: a post with everything that it refers to is far below. */
const recordCharactersMax = 32 * 1024 * 1024

/**
 * The records of a stream connection, as they came; an empty one is a keep-alive. Ends when the server ends the
 * connection or `signal` is aborted. Throws `ApiFault` when it is refused, `Unreachable` when it breaks or falls
 * silent.
 */
export async function* streamLines(
  client: ApiClient,
  query: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): AsyncGenerator<string, void, void> {
  const silence = new AbortController()
  const watch = setTimeout(() => {
    silence.abort(new Unreachable(client.url, new Error("nothing was heard for 30 s")))
  }, silenceMsMax)
  try {
    const body = await client.stream("/2/tweets/search/stream", {
      query,
      signal: AbortSignal.any([signal, silence.signal]),
    })
    const decoder = new TextDecoder()
    let rest = ""
    for await (const chunk of body) {
      watch.refresh()
      const records = (rest + decoder.decode(chunk, { stream: true })).split("\r\n")
      rest = records.pop() ?? ""
      if (rest.length > recordCharactersMax)
        throw new Unreachable(client.url, new Error("a record does not end"))
      yield* records
    }
  } catch (error) {
    if (signal.aborted) return
    throw silence.signal.aborted ? silence.signal.reason : client.broken(error)
  } finally {
    clearTimeout(watch)
  }
}
