import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { paths } from "@sluice/api/paths"
import { startTestServer, type TestApp, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run, type Run } from "../command.testing.ts"

const resources = new AsyncDisposableStack()
let directory: string
let server: TestServer
let app: TestApp

beforeAll(async () => {
  directory = resources.use(await temporaryDirectory()).path
  server = resources.use(await startTestServer({ "rules-per-app-max": "200" }))
})
afterAll(() => resources.disposeAsync())
beforeEach(async () => {
  app = await server.newApp()
})

/** Runs `sluice rules` as an app of its own in each test. */
function rules(words: readonly string[], more: { input?: string; terminal?: { columns: number } } = {}): Promise<Run> {
  const env = { SLUICE_URL: server.url, SLUICE_TOKEN: app.app.bearer_token }
  return run(["rules", ...words], { cwd: directory, env, ...more })
}

const sync = (input: string, ...words: readonly string[]): Promise<Run> => rules(["sync", "-", ...words], { input })

/** The rules as they are stored, `value (tag)`, by value. */
async function stored(): Promise<readonly string[]> {
  const { stdout } = await rules(["export", "--format", "json"])
  const list = JSON.parse(stdout) as { value: string; tag?: string }[]
  return list.map(({ value, tag }) => (tag === undefined ? value : `${value} (${tag})`))
}

test("the differences are shown, and the rules become those of the file, once", async () => {
  expect(await sync("- value: cat\n  tag: pets\n- dog\n- value: fox\n  tag: wild\n")).toEqual({
    status: 0,
    stderr: "",
    stdout: "+ cat  (pets)\n+ dog\n+ fox  (wild)\n3 added, 0 deleted, 0 retagged, 0 unchanged.\n",
  })
  const next = "- value: cat\n  tag: pets\n- value: dog\n  tag: pets\n- owl\n"
  const difference = "- fox  (wild)\n~ dog  (no tag → pets)\n+ owl\n"
  const counts = "1 added, 1 deleted, 1 retagged, 1 unchanged.\n"
  expect(await sync(next, "--dry-run")).toMatchObject({
    status: 0,
    stdout: `${difference}Dry run, nothing changed: ${counts}`,
  })
  expect(await stored()).toEqual(["cat (pets)", "dog", "fox (wild)"])
  expect(await sync(next)).toMatchObject({ status: 0, stdout: difference + counts })
  expect(await stored()).toEqual(["cat (pets)", "dog (pets)", "owl"])
  expect(await sync(next)).toMatchObject({
    status: 0,
    stdout: "0 added, 0 deleted, 0 retagged, 3 unchanged.\n",
  })
})

test("with --tag only rules of that tag are changed, and those of others are named", async () => {
  await sync("[owl, {value: fox, tag: wild}, {value: rat, tag: pets}]")
  expect(await sync("[cat, dog]", "--tag", "pets")).toEqual({
    status: 0,
    stderr: "",
    stdout: "- rat  (pets)\n+ cat  (pets)\n+ dog  (pets)\n2 added, 1 deleted, 0 retagged, 0 unchanged.\n",
  })
  expect(await stored()).toEqual(["cat (pets)", "dog (pets)", "fox (wild)", "owl"])
  const refused = await sync("[cat, fox]", "--tag", "pets")
  expect(refused).toMatchObject({ status: 1, stdout: "" })
  expect(refused.stderr).toContain("The app has the rule fox with the tag wild.")
  const other = await sync("- cat\n- value: dog\n  tag: wild\n", "--tag", "pets")
  expect(other).toMatchObject({ status: 1, stderr: expect.stringContaining("line 2: the rule has the tag wild.") })
  expect((await sync("[]", "--tag", "pets")).stderr).toContain("all rules with the tag pets would be deleted")
  expect(await stored()).toEqual(["cat (pets)", "dog (pets)", "fox (wild)", "owl"])
})

test("with --json the changes are printed as one value", async () => {
  await sync("[dog, {value: fox, tag: wild}]")
  const { stdout } = await sync('[{"value":"dog","tag":"pets"},{"value":"owl"}]', "--json")
  const id = expect.stringMatching(/^\d+$/) as string
  expect(JSON.parse(stdout)).toEqual({
    dry_run: false,
    added: [{ id, value: "owl" }],
    deleted: [{ id, value: "fox", tag: "wild" }],
    tagged: [{ value: "dog", tag: "pets" }],
    unchanged: 0,
  })
})

const values = ["#heron lang:en", "-is:retweet 鷺", '"a: phrase" b', "123", "true", "null OR yes", "x".repeat(300)]

test.each(["yaml", "json"])("an export as %s changes nothing when it is synchronised", async (format) => {
  const list = values.map((value, at) => (at % 2 === 0 ? { value } : { value, tag: `- tag: ${String(at)} #` }))
  expect(await sync(JSON.stringify(list))).toMatchObject({ status: 0, stderr: "" })
  const exported = await rules(["export", "--format", format])
  await writeFile(join(directory, "rules.txt"), exported.stdout)
  const again = await rules(["sync", "rules.txt"])
  expect(again).toMatchObject({ status: 0, stdout: expect.stringMatching(/^0 added, .* 7 unchanged\.\n$/) })
})

test("the API's list of rules is a valid rule file", async () => {
  await sync("[dog]")
  const { text } = await app.call("/2/tweets/search/stream/rules")
  expect(await sync(text)).toMatchObject({ stdout: expect.stringContaining("1 unchanged") })
})

test("every wrong rule is shown with its problems under its characters, and nothing is changed", async () => {
  await sync("[keep]")
  const list = ["owl", "form:me has:image", ...Array.from({ length: 150 }, (_, at) => `word${String(at)}`), "cat OR"]
  const outcome = await sync(list.map((value) => `- ${value}`).join("\n"))
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toMatch(
    /^error: 2 rules are invalid; nothing was changed\.\n {2}line 2:\n {2}form:me has:image\n {2}\^{4}\n/,
  )
  expect(outcome.stderr).toMatch(/\n {2}line 153:\n {2}cat OR\n {2} +\^/)
  expect(await stored()).toEqual(["keep"])
})

test("an empty list deletes everything only with --allow-empty", async () => {
  await sync("[dog]")
  for (const empty of ["", "[]", "# nothing\n"]) {
    const refused = await sync(empty)
    expect(refused).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("--allow-empty") })
  }
  expect(await stored()).toEqual(["dog"])
  expect(await sync("", "--allow-empty")).toMatchObject({ status: 0, stdout: expect.stringContaining("1 deleted") })
  expect(await stored()).toEqual([])
})

test.each([
  ["- dog\n- cat\n- dog", "line 3: The rule stands in line 1 already."],
  ["- value: cat #dogs", 'line 1: `value` ends before "#dogs", a comment in YAML: put the rule in quotes.'],
  ["- cat #dogs\n", 'line 1: The rule ends before "#dogs"'],
  ["- 123", "line 1: The rule must be a text: put 123 in quotes."],
  ["- dog\n- tag: pets", "line 2: `value` is missing."],
  ["- value: dog\n  tags: pets", "line 1: A rule has the members value and tag, and not tags."],
  ['- "dog" cat', "line 1: "],
  ["- &a dog\n- *a", "line 2: An alias is no rule."],
  [`- value: dog\n  tag: ${"x".repeat(256)}`, "line 1: `tag` has 256 characters, and may have at most 255."],
  ["rules: dog", "line 1: The file must hold a list of rules"],
  ['[""]', "line 1: The rule is empty."],
])("a file that is not a list of rules is refused by its line: %j", async (text, message) => {
  const outcome = await sync(text)
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toMatch(/^error: Standard input is not a list of rules\.\n {2}line/)
  expect(outcome.stderr).toContain(message)
})

test("a block of text is a rule without the line break at its end", async () => {
  expect(await sync("- value: |\n    cat #dogs\n")).toMatchObject({ status: 0 })
  expect(await stored()).toEqual(["cat #dogs"])
})

test("a missing file, and a change that finds no room, end with the completed changes", async () => {
  const missing = await rules(["sync", "none.yaml"])
  expect(missing).toMatchObject({
    status: 1,
    stderr: expect.stringMatching("error: There is no file none.yaml.\n"),
  })
  const many = Array.from({ length: 201 }, (_, at) => `- word${String(at)}`).join("\n")
  const outcome = await sync(many)
  expect(outcome.status).toBe(1)
  expect(outcome.stderr).toContain("0 rules were deleted and 200 added before. Run the command again to continue.")
})

test("tables and differences are cut for a terminal, and whole for a pipe", async () => {
  const value = `heron ${"or-not ".repeat(60)}`.trim()
  const terminal = { columns: 60 }
  const shown = await rules(["sync", "-"], { input: JSON.stringify([{ value, tag: "t".repeat(200) }]), terminal })
  expect(shown.stdout.split("\n")[0]).toContain("…")
  const [, whole] = (await rules(["list"])).stdout.split("\n")
  expect(whole).toMatch(new RegExp(`^\\d+ +t{200} +${value}$`))
  const [, cut] = (await rules(["list"], { terminal })).stdout.split("\n")
  expect(cut?.length).toBeLessThanOrEqual(120)
  expect(cut).toMatch(/…$/)
})

test("an export has no character that a terminal interprets or hides, and is read as the same rules", async () => {
  const odd = ["\u001b", "\u0085", "\u009b", "\u200b", "\u202e", "\u2066", "\u2028", "\u{e0001}", "\ufeff"]
  const added = odd.map((character, index) => ({ value: `"heron${String(index)}"`, tag: `a${character}b` }))
  const { data = [] } = (await app.send("POST", paths.rules, { add: added })).body as { data?: readonly unknown[] }
  expect(data).toHaveLength(odd.length)
  const before = await stored()
  for (const format of ["yaml", "json"]) {
    const { stdout } = await rules(["export", "--format", format])
    expect(stdout).not.toMatch(/[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028]|(?!\n)\p{Cc}/u)
    expect(await sync(stdout)).toMatchObject({
      stdout: `0 added, 0 deleted, 0 retagged, ${String(odd.length)} unchanged.\n`,
    })
  }
  expect(await stored()).toEqual(before)
  expect(before.map((rule) => odd.find((character) => rule.includes(`(a${character}b)`)))).toEqual(odd)
})
