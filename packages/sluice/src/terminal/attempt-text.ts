/** An attempt to deliver as a person reads it: the request as it was sent, and what came back. */
import type { Operations } from "@sluice/client"
import { messageText, visibleLines, type Terminal } from "./terminal.ts"

/** An attempt with what was sent. */
export type AttemptSent = Operations["attempt"]["GET"]["response"]["data"]

/** The lines of an attempt, an empty one after them. */
export function attemptText(attempt: AttemptSent, style: Terminal["style"]): string {
  const { at, duration_ms: durationMs, event_id: eventId, outcome, error, request, response } = attempt
  const isDelivered = outcome === "delivered"
  const head = [at, isDelivered ? style.good(outcome) : style.bad(outcome), `${String(durationMs)} ms`, eventId]
  return [
    head.map((text) => messageText(text)).join("  "),
    ...(error === undefined ? [] : [`  ${messageText(error)}`]),
    ...(request === undefined ? ["  Nothing was sent."] : requestLines(request)),
    ...(response === undefined ? ["  No response is kept."] : responseLines(response)),
    "",
  ].join("\n")
}

function requestLines({
  method,
  url,
  headers,
  body,
  body_unavailable: why,
}: Exclude<AttemptSent["request"], undefined>): string[] {
  const reason = why === "gone" ? "retention has deleted the match" : "the stored post is damaged"
  return [
    `> ${messageText(method)} ${messageText(url)}`,
    ...headerLines(">", headers),
    body === undefined ? `  (The body is no longer there: ${reason}.)` : visibleLines(body),
  ]
}

function responseLines({ status, headers, body, bytes }: Exclude<AttemptSent["response"], undefined>): string[] {
  const shown = Buffer.byteLength(body)
  return [
    `< ${String(status)}`,
    ...headerLines("<", headers),
    ...(body === "" ? [] : [visibleLines(body)]),
    ...(bytes > shown ? [`  (${String(bytes)} bytes in all.)`] : []),
  ]
}

function headerLines(mark: string, headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) => `${mark} ${messageText(name)}: ${messageText(value)}`)
}
