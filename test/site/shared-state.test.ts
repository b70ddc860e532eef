import { deflateRawSync } from "node:zlib"
import { expect, test } from "vitest"
import { fragmentCharactersMax, fragmentOf, openFragment } from "../../site/src/shared-state.ts"

const fragmentWith = (bytes: string): string => `#1.${deflateRawSync(bytes).toString("base64url")}`

test("a fragment opens the rule and the posts that it was made of", async () => {
  const state = { rule: 'heron OR "鷺 🪶"', posts: 'a\n{"data":{"text":"</script>"}}\u202E\n' }
  const fragment = await fragmentOf(state)
  expect(fragment).toMatch(/^#1\.[\w-]+$/)
  expect(await openFragment(fragment ?? "")).toEqual({ kind: "state", state })
  expect(await openFragment("")).toEqual({ kind: "nothing" })
})

test("a state that is too long has no fragment, and a fragment that is too long is not read", async () => {
  const posts = Array.from({ length: 2_000 }, () => crypto.randomUUID()).join("\n")
  expect(await fragmentOf({ rule: "heron", posts })).toBeUndefined()
  const long = await openFragment(`#1.${"A".repeat(fragmentCharactersMax)}`)
  expect(long).toMatchObject({ kind: "problem", message: expect.stringContaining("too long") })
})

test("a fragment that inflates to more than the bound is refused", async () => {
  const bomb = fragmentWith(`{"rule":"a","posts":"${"a".repeat(16_000_000)}"}`)
  expect(bomb.length).toBeLessThan(fragmentCharactersMax)
  expect(await openFragment(bomb)).toMatchObject({ message: expect.stringContaining("holds too much") })
})

test.each([
  ["another version", "#2.AAAA"],
  ["no base64url", "#1.<img src=x>"],
  ["no deflated bytes", "#1.AAAA"],
  ["nothing", "#1."],
  ["no JSON", fragmentWith("heron")],
  ["null", fragmentWith("null")],
  ["a list", fragmentWith("[1]")],
  ["a number as the rule", fragmentWith('{"rule":1,"posts":""}')],
  ["no posts", fragmentWith('{"rule":"a","__proto__":{"posts":"b"}}')],
  ["bytes that are no text", `#1.${deflateRawSync(Buffer.from([0xff, 0xfe])).toString("base64url")}`],
])("a fragment with %s is a problem, and not an error", async (_, fragment) => {
  expect(await openFragment(fragment)).toMatchObject({ kind: "problem" })
})
