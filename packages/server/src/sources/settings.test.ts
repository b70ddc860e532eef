import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { SettingsReader, type Environment, type SourceMembers } from "./settings.ts"

const reader = (members: SourceMembers, env: Environment = {}) => new SettingsReader(members, env)

const redis = { protocols: ["redis:", "rediss:"], example: "redis://127.0.0.1:6379" }

test("members are read as they are written, and absent ones have their defaults", () => {
  const settings = reader({ name: "posts-1", type: "redis", stream: "posts", count: 5, keeps: true, start: "newest" })
  expect(settings.name()).toBe("posts-1")
  expect(settings.text("stream", { example: "posts" })).toBe("posts")
  expect(settings.optionalText("group", { example: "sluice" })).toBeUndefined()
  expect(settings.wholeNumber("count", [1, 9], 3)).toBe(5)
  expect(settings.wholeNumber("other", [1, 9], 3)).toBe(3)
  expect([settings.flag("keeps"), settings.flag("drops")]).toEqual([true, false])
  expect(settings.oneOf("start", ["oldest", "newest"])).toBe("newest")
  expect(settings.oneOf("end", ["oldest", "newest"])).toBe("oldest")
  expect(() => settings.noOthers()).not.toThrow()
})

test("a value that has no use is refused, with what would be right", () => {
  const text = { example: "posts", purpose: "name the stream to read" }
  const refused: readonly [read: (settings: SettingsReader) => unknown, members: SourceMembers, message: string][] = [
    [(each) => each.text("stream", text), {}, "has no stream: name the stream to read, such as posts."],
    [(each) => each.text("stream", text), { stream: null }, "has no stream: name the stream to read, such as posts."],
    [(each) => each.text("stream", text), { stream: 5 }, 'has stream 5: it must be text, such as "posts".'],
    [
      (each) => each.text("stream", text),
      { stream: "" },
      "has an empty stream: set it, such as posts, or leave it out.",
    ],
    [(each) => each.text("stream", text), { stream: "a\nb" }, 'has stream "a\\nb": it must be text on one line'],
    [(each) => each.wholeNumber("n", [1, 9], 3), { n: 10 }, "has n 10: it must be a whole number from 1 to 9."],
    [(each) => each.wholeNumber("n", [1, 9], 3), { n: 1.5 }, "has n 1.5: it must be a whole number from 1 to 9."],
    [(each) => each.wholeNumber("n", [1, 9], 3), { n: "5" }, 'has n "5": it must be a whole number from 1 to 9.'],
    [(each) => each.flag("keeps"), { keeps: "yes" }, 'has keeps "yes": it must be true or false.'],
    [
      (each) => each.oneOf("start", ["oldest", "newest"]),
      { start: "now" },
      'has start "now": it must be oldest or newest.',
    ],
    [(each) => each.name(), {}, "needs a name of 1 to 40 lower-case letters"],
    [(each) => each.name(), { name: "Posts" }, "needs a name of 1 to 40 lower-case letters"],
    [(each) => each.noOthers(), { name: "a", streem: 1 }, 'has an unknown member "streem": it may have name, type.'],
  ]
  for (const [read, members, message] of refused) expect(() => read(reader(members))).toThrow(message)
})

test("an address has an allowed protocol and no credentials, which a refusal does not show", () => {
  const urlOf = (url: unknown) => reader({ url }).url("url", redis)
  expect(urlOf("redis://host:6379/2")).toBe("redis://host:6379/2")
  expect(() => urlOf(undefined)).toThrow("has no url: say where it is, such as redis://127.0.0.1:6379.")
  expect(() => urlOf("host")).toThrow("has a url that is no URL")
  expect(() => urlOf("http://host")).toThrow("begins with http://, and must begin with redis:// or rediss://, such as")
  expect(() => urlOf("redis:")).toThrow("names no host")
  for (const url of ["redis://user@host", "redis://:secret@host", "redis://host?token=secret", "redis://host#secret"]) {
    expect(() => urlOf(url)).toThrow(/holds credentials|has text after/)
    expect(() => urlOf(url)).not.toThrow("secret")
  }
  expect(reader({ url: "redis://h?a=1" }).url("url", { ...redis, mayHaveQuery: true })).toBe("redis://h?a=1")
})

test("a secret is read from its file each time, or comes from a variable that is set", async () => {
  await using directory = await temporaryDirectory()
  const file = join(directory.path, "password")
  await writeFile(file, "first\n")
  const read = reader({ passwordFile: file }).secret("password")
  expect(read?.()).toBe("first")
  await writeFile(file, "second\r\n")
  expect(read?.()).toBe("second")
  expect(reader({ passwordVariable: "P" }, { P: "third" }).secret("password")?.()).toBe("third")
  expect(reader({}).secret("password")).toBeUndefined()
  expect(() => reader({ passwordFile: join(directory.path, "none") }).secret("password")?.()).toThrow("cannot be read")
})

test("a secret itself is refused, and so are two places for it and a variable that is not set", () => {
  const secretOf = (members: SourceMembers) => () => reader(members).secret("password")
  expect(secretOf({ password: "hunter2" })).toThrow(
    "has password in the configuration file: name the file that holds it",
  )
  expect(secretOf({ password: "hunter2" })).not.toThrow("hunter2")
  expect(secretOf({ passwordFile: "a", passwordVariable: "A" })).toThrow("has both passwordFile and passwordVariable")
  expect(secretOf({ passwordVariable: "A" })).toThrow(
    "has passwordVariable A, and the environment has no such variable",
  )
  expect(secretOf({ passwordVariable: "A B" })).toThrow("it must be the name of an environment variable")
})
