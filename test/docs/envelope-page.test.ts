/** docs/envelope.md names every member that a caller can ask for, and its example is taken as it stands. */
import { readFileSync } from "node:fs"
import { mediaFields, placeFields, pollFields, postFields, userFields, type Envelope } from "@sluice/api"
import { expect, test } from "vitest"
import { readEnvelope } from "../../packages/server/src/ingest/read-envelope.ts"

const page = readFileSync(new URL("../../docs/envelope.md", import.meta.url), "utf8")

test.each([
  ["`data`", postFields],
  ["`includes.users`", userFields],
  ["`includes.media`", mediaFields],
  ["`includes.places`", placeFields],
  ["`includes.polls`", pollFields],
] as const)("the page lists all members of %s, and no others", (title, fields) => {
  const section = page.split(/^## /m).find((text) => text.startsWith(title)) ?? ""
  const named = Array.from(section.matchAll(/^\| `(\w+)`/gm), ([, name = ""]) => name)
  expect(named.toSorted()).toEqual([...fields].toSorted())
})

const example = JSON.parse(/```json\n(.+?)```/s.exec(page)?.[1] ?? "") as Envelope

function read(data: object): ReturnType<typeof readEnvelope> {
  return readEnvelope(JSON.stringify({ ...example, data: { ...example.data, ...data } }), 0)
}

test("the page's example is accepted whole", () => {
  expect(read({})).toMatchObject({ ok: true, envelope: example })
})

test("members that the page marks are refused in another type, and no others are", () => {
  const marked = Array.from(page.matchAll(/^\| `(\w+)` +\| ●/gm), ([, name = ""]) => name)
  const refused = postFields.filter((name) => !read({ [name]: { is: "wrong" } }).ok)
  expect(refused.toSorted()).toEqual(marked.toSorted())
})
