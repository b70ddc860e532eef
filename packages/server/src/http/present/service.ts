/** The health of the server as API bodies show it. */

/** A process that is alive, or ready for requests. */
export function presentStatus(status: "ok" | "ready") {
  return { status }
}
