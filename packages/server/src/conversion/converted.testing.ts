/** Converts records in tests, and holds every envelope to what ingest and readers of X's posts rely on. */
import { expect } from "vitest"
import type { Envelope } from "@sluice/api"
import { readEnvelope } from "../ingest/read-envelope.ts"
import type { PostId } from "../model/ids.ts"
import type { Converted, Converter, KnownNames, KnownUser } from "./converter.ts"

/** Nothing is known. */
export const nothingKnown: KnownNames = { postId: () => undefined, user: () => undefined }

/** These are known. */
export function knowing(known: {
  readonly posts?: Readonly<Record<string, string>>
  readonly users?: Readonly<Record<string, KnownUser>>
  readonly envelopes?: Readonly<Record<string, Envelope>>
}): KnownNames {
  return {
    postId: (name) => known.posts?.[name] as PostId | undefined,
    user: (id) => known.users?.[id],
    envelope: (name) => known.envelopes?.[name],
  }
}

/** An id as the moment of arrival gives it to a post without one. */
export const assignedId = "2090000000000000001" as PostId

/** The result of a line. A post is held to `expectSound`. */
export function convert(converter: Converter, line: unknown, known: KnownNames = nothingKnown): Converted {
  const text = typeof line === "string" ? line : JSON.stringify(line)
  const converted = converter.begin(text).finish(known)
  if (converted.kind === "post") expectSound(converted.envelopeWith(converted.id ?? assignedId))
  if (converted.kind === "rejected") expect(converted.detail.length).toBeLessThan(600)
  return converted
}

/** An envelope whose members tests name. */
export type ReadableEnvelope = Envelope & {
  readonly data: {
    readonly entities: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
    readonly source_uri: string
  }
}

/** The envelope of a line, which must become a post. */
export function envelopeOf(converter: Converter, line: unknown, known: KnownNames = nothingKnown): ReadableEnvelope {
  const converted = convert(converter, line, known)
  if (converted.kind !== "post") throw new Error(`no post: ${JSON.stringify(converted)}`)
  return JSON.parse(converted.envelopeWith(converted.id ?? assignedId)) as ReadableEnvelope
}

/** Ingest takes the envelope unchanged, and each entity stands where it says. */
export function expectSound(line: string): void {
  const read = readEnvelope(line, 0)
  expect(read).toMatchObject({ ok: true })
  if (!read.ok) return
  expect(read.post.envelope.toString()).toBe(line)
  expect(line.isWellFormed()).toBe(true)
  expect(read.envelope.data.source_uri).toMatch(/^\S+$/)
  for (const post of [read.envelope.data, ...(read.envelope.includes?.tweets ?? [])]) expectEntities(post)
}

function expectEntities(post: Readonly<Record<string, unknown>>): void {
  const text = Array.from(post["text"] as string)
  const {
    hashtags = [],
    mentions = [],
    urls = [],
    cashtags = [],
  } = post["entities"] as Record<
    string,
    readonly { readonly start: number; readonly end: number; readonly [member: string]: unknown }[]
  >
  const shown = ({ start, end }: { readonly start: number; readonly end: number }): string =>
    text.slice(start, end).join("")
  for (const one of [...hashtags, ...mentions, ...urls, ...cashtags]) {
    expect(one.start).toBeGreaterThanOrEqual(0)
    expect(one.end).toBeLessThanOrEqual(text.length)
    // An entity that the text does not show stands at its end.
    expect(one.end > one.start || one.start === text.length).toBe(true)
  }
  for (const tag of hashtags) expect(["", `#${String(tag["tag"])}`, `＃${String(tag["tag"])}`]).toContain(shown(tag))
  for (const tag of cashtags) expect(shown(tag)).toBe(`$${String(tag["tag"])}`)
  for (const link of urls) if (shown(link) !== "") expect(isShownBy(shown(link), link)).toBe(true)
  for (const mention of mentions) {
    // A mention may stand over other words. Recorded texts have email addresses masked with `x`, and with them some names.
    const name = /^@([^@]+)/.exec(shown(mention))?.[1]
    if (name === undefined || /^x[x.]+$/.test(name)) continue
    expect(mention["username"] === name || isNameOf(name, mention)).toBe(true)
  }
  const places = [...hashtags, ...mentions, ...urls, ...cashtags].filter(({ start, end }) => end > start)
  const ordered = places.toSorted((a, b) => a.start - b.start)
  expect(ordered.every(({ start }, at) => at === 0 || start >= (ordered[at - 1]?.end ?? 0))).toBe(true)
}

function isNameOf(name: string, { username }: Readonly<Record<string, unknown>>): boolean {
  return String(username).toLowerCase().startsWith(`${name.toLowerCase()}@`)
}

/** The text of a link is its address or what readers see of it, which may hide the scheme and the tail. */
function isShownBy(text: string, link: Readonly<Record<string, unknown>>): boolean {
  const display = String(link["display_url"])
  return text === link["url"] || text === display || text.includes(display.replace(/…$/, ""))
}
