/**
 * Reads a line that tells of a deletion, in the forms of X's streams.
 *
 * | Form                                                              | Source                                  |
 * | ----------------------------------------------------------------- | --------------------------------------- |
 * | `{"delete":{"status":{"id","id_str","user_id","user_id_str"}}}`   | streams and archives of v1.1            |
 * | `{"data":{"delete":{"tweet":{"id","author_id"},"event_at"}}}`     | docs.x.com, "Post compliance stream"    |
 * | `{"data":{"user_delete":{"user":{"id"},"event_at"}}}`             | docs.x.com, "User compliance stream"    |
 *
 * Other notices of these streams are rejected by their names: they ask for what this server does not do.
 */
import { otherNotices, tellsOfDeletion } from "@sluice/api"
import type { DeletionRequest } from "../model/deletion.ts"
import { asId, isId, type PostId, type UserId } from "../model/ids.ts"

/** A deletion, or why the line cannot be obeyed. */
export type ReadDeletion =
  | { readonly ok: true; readonly request: DeletionRequest }
  | { readonly ok: false; readonly title: string; readonly detail: string }

/** The deletion that a line tells of; `undefined` when the line is no notice at all. */
export function readDeletion(line: string): ReadDeletion | undefined {
  const parsed = objectOrNone(parseJson(line))
  const data = objectOrNone(parsed["data"])
  if (tellsOfDeletion(parsed)) {
    if ("delete" in parsed) return postDeletion("delete.status", objectOrNone(parsed["delete"])["status"])
    if ("delete" in data) return postDeletion("data.delete.tweet", objectOrNone(data["delete"])["tweet"])
    return userDeletion("data.user_delete.user", objectOrNone(data["user_delete"])["user"])
  }
  if ("id" in data || "text" in data) return undefined
  const [name] = Object.keys(parsed).length === 1 ? Object.keys("data" in parsed ? data : parsed) : []
  if (name === undefined || !otherNotices.includes(name)) return undefined
  return rejected(`The line is a notice of the kind "${name}". Only deletions are obeyed.`)
}

function postDeletion(path: string, value: unknown): ReadDeletion {
  const id = idOf(value)
  return id === undefined ? withoutId(path) : { ok: true, request: { kind: "post", id: asId<PostId>(id) } }
}

function userDeletion(path: string, value: unknown): ReadDeletion {
  const id = idOf(value)
  return id === undefined ? withoutId(path) : { ok: true, request: { kind: "user", id: asId<UserId>(id) } }
}

/** Only texts: a JSON number loses digits. */
function idOf(value: unknown): string | undefined {
  const { id_str: text, id } = objectOrNone(value)
  return [text, id].find((one): one is string => typeof one === "string" && isId(one) && !/^0\d/.test(one))
}

function withoutId(path: string): ReadDeletion {
  return rejected(`\`${path}.id\` must be a string of 1 to 19 decimal digits, up to 9223372036854775807.`)
}

function rejected(detail: string): ReadDeletion {
  return { ok: false, title: "Invalid Notice", detail }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function objectOrNone(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
