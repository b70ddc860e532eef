/** One connection of the stream, as lines. */
import { ApiError, noResponse } from "./errors.ts"

/** Most characters of one line. Ours: a post with everything that it refers to is far below. */
const lineCharactersMax = 32 * 1024 * 1024

/**
 * The lines of a connection, keep-alives as empty ones. Ends with the connection or when `signal` is aborted, and closes
 * the connection when its reader leaves. Throws an `ApiError` when it breaks, or is silent for longer than `msMax`: then it
 * is dead, though no error says so.
 */
export async function* connectionLines(
  url: string,
  connect: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>,
  signal: AbortSignal,
  msMax: number,
): AsyncGenerator<string, void, void> {
  const silence = new AbortController()
  const limited = withSilenceLimit(silence, url, msMax)
  try {
    const body = await limited(connect(AbortSignal.any([signal, silence.signal])))
    const chunks = body.getReader()
    const decoder = new TextDecoder()
    let rest = ""
    for (let next = await limited(chunks.read()); !next.done; next = await limited(chunks.read())) {
      // Only the new chunk is searched: JSON has no line feed in it, so every one ends a line.
      const [first = "", ...others] = decoder.decode(next.value, { stream: true }).split("\n")
      rest += first
      if (rest.length > lineCharactersMax) throw noResponse(url, new Error("a line does not end"))
      for (const following of others) {
        yield rest.replace(/\r$/, "")
        rest = following
      }
    }
  } catch (error) {
    if (signal.aborted) return
    if (silence.signal.aborted) throw silence.signal.reason
    throw error instanceof ApiError ? error : noResponse(url, error)
  } finally {
    // A reader that leaves in the middle leaves the connection, too.
    silence.abort()
  }
}

/** Waits for what the server sends, and aborts `silence` when it takes too long. The reader's own time does not count. */
function withSilenceLimit(silence: AbortController, url: string, msMax: number) {
  return async <Result>(sent: Promise<Result>): Promise<Result> => {
    const reason = new Error(`nothing was received for ${String(msMax / 1000)} s`)
    const timer = setTimeout(() => silence.abort(noResponse(url, reason)), msMax)
    try {
      return await sent
    } finally {
      clearTimeout(timer)
    }
  }
}
