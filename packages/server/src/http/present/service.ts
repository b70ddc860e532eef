/** The health of the server as API bodies show it. */

/** Whether the process is alive, or ready for requests. */
export function presentStatus(status: "ok" | "ready") {
  return { status }
}
