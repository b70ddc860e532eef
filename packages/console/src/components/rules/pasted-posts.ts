import type { Envelope } from "@sluice/api"

/** Most posts of a test. Source: the route's schema. */
const pastedMax = 1_000

/** The posts of a pasted text. */
interface Pasted {
  readonly envelopes: readonly Envelope[]
  readonly problem?: string
}

/**
 * Reads envelopes, posts or pages of posts as JSON, as one value or one per line; otherwise each line is the text of a
 * post. Posts without an id get one, so that ids are unique.
 */
export function readEnvelopes(text: string): Pasted {
  const trimmed = text.trim()
  if (trimmed === "") return { envelopes: [] }
  if (!/^[[{]/.test(trimmed)) return limited(linesOf(trimmed).map((line) => ({ text: line })))
  const whole = parsed(trimmed)
  if (whole !== undefined) return limited(postsIn(whole))
  const values: unknown[] = []
  for (const [index, line] of linesOf(trimmed).entries()) {
    const value = parsed(line)
    if (value === undefined) return { envelopes: [], problem: `Line ${index + 1} is not JSON` }
    values.push(...postsIn(value))
  }
  return limited(values)
}

function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The values that represent posts: the items of a list, or the posts of a page with its `includes`. */
function postsIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(postsIn)
  const { data, includes } = membersOf(value)
  return Array.isArray(data)
    ? data.flatMap((one) => ("data" in membersOf(one) ? [one] : [{ data: one, includes }]))
    : [value]
}

function limited(values: readonly unknown[]): Pasted {
  const envelopes = values.slice(0, pastedMax).flatMap((value, index) => envelopeOf(value, index) ?? [])
  if (envelopes.length === 0) return { envelopes, problem: "No posts found: a post has a `text`" }
  return values.length > pastedMax
    ? { envelopes, problem: `Only the first ${pastedMax.toLocaleString()} posts are tested` }
    : { envelopes }
}

function envelopeOf(value: unknown, index: number): Envelope | undefined {
  const members = membersOf(value)
  const post = "data" in members ? membersOf(members["data"]) : members
  if (typeof post["text"] !== "string") return undefined
  const id = typeof post["id"] === "string" && /^\d{1,19}$/.test(post["id"]) ? post["id"] : String(index + 1)
  const { includes } = members
  return {
    data: { ...post, id, text: post["text"] },
    ...(typeof includes === "object" && includes !== null && { includes }),
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
