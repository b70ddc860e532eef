import { expect, test } from "vitest"
import { mentionsAnother } from "./mentioned-user.ts"

const wren = { id: "7", username: "Wren" }

const postOf = (...mentions: readonly unknown[]) => ({ data: { id: "1", text: "@wren", entities: { mentions } } })

test.each([
  ["the user's id", [{ id: "7", username: "another" }], false],
  ["their name alone", [{ username: "WREN" }], false],
  ["their name with an id that is none", [{ id: "", username: "wren" }], false],
  ["their name with an id that is no text", [{ id: 8, username: "wren" }], false],
  ["their name with another id", [{ id: "8", username: "wren" }], true],
  [
    "both users",
    [
      { id: "8", username: "wren" },
      { id: "7", username: "heron" },
    ],
    false,
  ],
  ["a name of the digits of their id, of another user", [{ id: "8", username: "7" }], true],
  ["nobody whom an entity names", [{ id: "8", username: "heron" }], false],
  ["entities that are none", [null, 7, "wren"], false],
])("a post that mentions %s", (_, mentions, expected) => {
  expect(mentionsAnother(postOf(...mentions), wren)).toBe(expected)
  const { data } = postOf(...mentions)
  expect(mentionsAnother({ data: { id: "1", text: "", note_tweet: { entities: data.entities } } }, wren)).toBe(expected)
})

test("a user whose name has digits alone is not the user of that id", () => {
  const digits = { id: "456", username: "123" }
  expect(mentionsAnother(postOf({ id: "123", username: "heron" }), digits)).toBe(true)
  expect(mentionsAnother(postOf({ username: "123" }), digits)).toBe(false)
  expect(mentionsAnother(postOf({ id: "456", username: "123" }), digits)).toBe(false)
})

test("a post without entities mentions whom its text names", () => {
  for (const entities of [undefined, {}, { mentions: null }, { mentions: {} }])
    expect(mentionsAnother({ data: { id: "1", text: "@wren", entities } }, wren)).toBe(false)
})
