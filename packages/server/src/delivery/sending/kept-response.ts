/** The part of a response that the history keeps. */
import type { AttemptResponse } from "../../model/attempt.ts"
import { truncateForDisplay } from "../../model/truncate.ts"
import type { ReceivedResponse } from "../../runtime/outbound/outbound.ts"

/** Most headers of a response that are kept, and most characters of all their names and values. Ours. */
const headersMax = 40
const headerCharactersMax = 2_048

/** Headers whose values are credentials. */
const hiddenHeaders: ReadonlySet<string> = new Set(["set-cookie", "set-cookie2"])

/** Keeps at most `bytesMax` bytes of the body; nothing of the response when that is 0. */
export function keptResponse(
  { status, headers, bodyStart, bodyBytes }: ReceivedResponse,
  bytesMax: number,
): AttemptResponse | undefined {
  if (bytesMax === 0) return undefined
  const kept: [string, string][] = []
  let characters = 0
  for (const [name, value = ""] of Object.entries(headers)) {
    const text = hiddenHeaders.has(name) ? "(not kept)" : truncateForDisplay([value].flat().join(", "))
    const header: [string, string] = [truncateForDisplay(name), text]
    characters += header[0].length + text.length
    if (characters > headerCharactersMax || kept.length === headersMax) break
    kept.push(header)
  }
  const body = bodyBytes <= bytesMax ? bodyStart : Buffer.from(bodyStart).toString("utf8", 0, bytesMax)
  return { status, headers: kept, body, bytes: bodyBytes }
}
