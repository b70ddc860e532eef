/** An error of the server for people: a message, and the details that it does not repeat. */
export interface ProblemText {
  readonly message: string
  readonly details: readonly string[]
}

/** The beginning of the detail of every problem of parameters. Source: recorded answers of X. */
const invalidParameters = "One or more parameters to your request was invalid."

/**
 * An error body as text: its title and detail, then each of its `errors`, without X's general sentence about
 * parameters, which would stand before the reasons. `undefined` when the body has none of the members that errors have. Takes any value, since X's error bodies differ from route to route.
 */
export function problemText(body: unknown): ProblemText | undefined {
  if (!isRecord(body)) return undefined
  const causes = Array.isArray(body["errors"]) ? body["errors"].filter(isRecord) : []
  const whole = isText(body["title"]) ? body : causes[0]
  if (whole === undefined) return undefined
  const detail = specific(
    whole["detail"] ?? whole["message"],
    causes.some((cause) => cause !== whole),
  )
  const message = [whole["title"], detail]
    .filter((part, at, all) => isText(part) && all.indexOf(part) === at)
    .join(": ")
  const details = new Set(causes.flatMap(causeText).filter((text) => text !== whole["detail"] && text !== message))
  const repeatsTheWhole = details.size === 1 && [...details].every((text) => message.includes(text))
  return { message, details: repeatsTheWhole ? [] : [...details] }
}

/** The detail without the general sentence; `undefined` when that is all of it and the causes say more. */
function specific(detail: unknown, hasCauses: boolean): unknown {
  if (!isText(detail) || !detail.startsWith(invalidParameters)) return detail
  const rest = detail.slice(invalidParameters.length).trim()
  if (rest !== "") return rest
  return hasCauses ? undefined : detail
}

/** The sentences of one entry of `errors`. */
function causeText(cause: Readonly<Record<string, unknown>>): string[] {
  const details = Array.isArray(cause["details"]) ? cause["details"].filter(isText) : []
  if (details.length > 0) return details
  const detail = cause["message"] ?? cause["detail"]
  const title = cause["title"]
  const text = isText(detail) ? detail : isText(title) ? title : JSON.stringify(cause)
  const { value } = cause
  return [isText(value) && !quotes(text, value) ? `${text}: ${value}` : text]
}

/** True when a sentence holds the value as a quotation, not as a part of some word. */
function quotes(text: string, value: string): boolean {
  return [`[${value}]`, `'${value}'`, `"${value}"`].some((quoted) => text.includes(quoted))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== ""
}
