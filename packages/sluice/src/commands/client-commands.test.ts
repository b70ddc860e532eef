import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { snowflakeEpochMs } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { run, startDev, type DevServer, type Run } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../../../../test/support/webhook-receiver.testing.ts"

const resources = new AsyncDisposableStack()
let directory: string
let dev: DevServer
let receiver: WebhookReceiver

beforeAll(async () => {
  directory = resources.use(await temporaryDirectory()).path
  dev = resources.use(await startDev(join(directory, ".sluice")))
  receiver = resources.use(await WebhookReceiver.start(dev.ready.app.consumer_secret))
})
afterAll(() => resources.disposeAsync())

/** Runs a client command where `sluice dev` has left its credentials, as a newcomer does. */
function sluice(...args: string[]): Promise<Run> {
  return run(args, { cwd: directory })
}

async function json(...args: string[]): Promise<unknown> {
  const [group = "", ...rest] = args
  const at = rest.indexOf("--") === -1 ? rest.length : rest.indexOf("--")
  const { status, stdout, stderr } = await sluice(group, ...rest.toSpliced(at, 0, "--json"))
  expect({ status, stderr }, stderr).toMatchObject({ status: 0 })
  expect(stdout.split("\n")).toHaveLength(2)
  return JSON.parse(stdout)
}

test("rules are added, listed and deleted", async () => {
  const first = await json("rules", "add", "dog has:images", "--tag", "dogs")
  expect(first).toEqual({ id: expect.stringMatching(/^\d+$/), value: "dog has:images", tag: "dogs" })
  const second = (await json("rules", "add", "--", "-is:retweet hamster")) as { id: string }
  expect(await json("rules", "list")).toEqual([second, first])

  const shown = await sluice("rules", "list")
  expect(shown.stdout).toMatch(/^ID +TAG +RULE\n\d+ +-is:retweet hamster\n\d+ +dogs +dog has:images\n$/)

  expect(await json("rules", "delete", second.id, (first as { id: string }).id)).toEqual({
    deleted: 2,
    not_deleted: 0,
  })
  expect(await json("rules", "list")).toEqual([])
})

test("usage is shown by day, with a line of blocks and the sum of the month", async () => {
  const today = new Date().toISOString().slice(0, 10)
  const before = (await json("usage")) as { project_usage: string }
  const id = String(1_990_004_210_000_005_000n)
  await writeFile(join(directory, "one.ndjson"), JSON.stringify({ data: { id, text: "a curlew", author_id: "7" } }))
  await sluice("import", join(directory, "one.ndjson"))
  await sluice("posts", "get", id)
  const posts = Number(before.project_usage) + 1
  const shown = await sluice("usage", "--days", "2")
  expect(shown).toMatchObject({ status: 0, stderr: "" })
  const [title, yesterday, last, blocks, sum] = shown.stdout.split("\n")
  expect(title).toMatch(/^DAY \(UTC\) +POSTS$/)
  expect(yesterday).toMatch(/^\d{4}-\d\d-\d\d +0$/)
  expect(last).toBe(`${today}  ${posts}`)
  expect([blocks, sum]).toEqual([" █", expect.stringMatching(/^\d+ posts? since day 1 of the month \(no cap\)$/)])
  expect(await json("usage", "--days", "1")).toMatchObject({ project_usage: String(posts), cap_reset_day: 1 })
})

test("an invalid rule is refused with all its problems", async () => {
  const outcome = await sluice("rules", "add", "form:me has:image")
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toMatch(/^error: The rule was not added\.\n(?: {2}.+\n){2,}/)
  expect(outcome.stderr).toContain("form")
  expect(outcome.stderr).toContain("has:image")
})

test("a rule that exists already, or does not exist, is reported", async () => {
  const rule = (await json("rules", "add", "gecko")) as { id: string }
  const again = await sluice("rules", "add", "gecko")
  expect(again.status).toBe(1)
  expect(again.stderr).toContain("gecko")
  await json("rules", "delete", rule.id)
  const gone = await sluice("rules", "delete", rule.id)
  expect(gone).toMatchObject({ status: 1, stdout: "Deleted 0 rules.\n" })
  expect(gone.stderr).toContain("1 rule could not be deleted.")
})

test("a webhook is added, validated, linked, watched, unlinked and deleted", async () => {
  const webhook = (await json("webhooks", "add", receiver.url)) as { id: string }
  expect(webhook).toMatchObject({ url: receiver.url, valid: true })
  expect(await json("webhooks", "list")).toMatchObject([webhook])
  expect((await sluice("webhooks", "list")).stdout).toContain(receiver.url)
  expect(await json("webhooks", "validate", webhook.id)).toEqual({ valid: true })

  const fields = "expansions=author_id&user.fields=username,name"
  expect(await json("links", "add", webhook.id, "--fields", fields)).toEqual({ provisioned: true })
  expect(await json("links", "list")).toMatchObject([
    { webhook_id: webhook.id, fields: ["expansions=author_id", "user.fields=username", "name"] },
  ])
  expect((await sluice("links", "list")).stdout).toContain("expansions=author_id user.fields=username name")
  expect(await json("links", "status")).toMatchObject([{ webhook_id: webhook.id, valid: true, lag: 0 }])
  expect((await sluice("links", "status")).stdout).toContain("up to date")

  expect(await json("links", "delete", webhook.id)).toEqual({ deleted: true })
  expect(await json("links", "list")).toEqual([])
  expect(await json("webhooks", "delete", webhook.id)).toEqual({ deleted: true })
  expect(await json("webhooks", "list")).toEqual([])
})

test("a webhook has a name and a description, and gets a test, whose failure is said", async () => {
  const named = ["--name", "Zoo", "--description", "Posts of the zoo"]
  const webhook = (await json("webhooks", "add", receiver.url, ...named)) as { id: string }
  expect(webhook).toMatchObject({ name: "Zoo", description: "Posts of the zoo" })
  expect((await sluice("webhooks", "list")).stdout).toMatch(/^\d+ +Zoo +yes /m)
  expect(await json("webhooks", "change", webhook.id, "--description", "")).not.toHaveProperty("description")
  expect((await sluice("webhooks", "change", webhook.id)).stderr).toContain("give --name or --description")
  expect(await sluice("webhooks", "test", webhook.id)).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^Delivered test_\d+ in \d+ ms\.\n$/) as string,
  })
  receiver.statusOf = () => 503
  receiver.echoes = true
  const failed = await sluice("webhooks", "test", webhook.id)
  receiver.statusOf = () => 200
  receiver.echoes = false
  expect(failed).toMatchObject({ status: 1, stdout: "" })
  expect(failed.stderr).toMatch(
    /^error: The test was not delivered: the endpoint responded with status 503\.\n +Its response: \{/,
  )
  await json("webhooks", "delete", webhook.id)
})

test("an endpoint that fails the challenge is refused with the reason", async () => {
  await using other = await WebhookReceiver.start("another secret")
  const outcome = await sluice("webhooks", "add", other.url)
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toContain("CrcValidationFailed")
})

test("a link to a missing webhook is an error of the server, printed in its words", async () => {
  const outcome = await sluice("links", "add", "123")
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toMatch(/^error: Not Found Error: .*123/)
})

test("a user's posts come page after page, or only the newest", async () => {
  const lines = Array.from({ length: 230 }, (_, at) => envelope(String(1000 + at), `post ${String(at)}`, "77"))
  await writeFile(join(directory, "many.ndjson"), lines.join("\n"))
  expect(await json("import", "many.ndjson")).toMatchObject({ accepted: 230 })

  const all = await sluice("posts", "77", "--all", "--json")
  const ids = all.stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { id: string }).id)
  expect(ids).toEqual(Array.from({ length: 230 }, (_, at) => String(1229 - at)))

  const some = await sluice("posts", "77")
  expect(some.stdout.trimEnd().split("\n")).toHaveLength(10)
  expect(some.stdout).toMatch(/^1229 +\S+Z {2}post 229\n/)
  expect(some.stderr).toBe("There are older posts: use --all.\n")
})

test("posts are printed by their ids, and those that are not there are named", async () => {
  const lines = Array.from({ length: 120 }, (_, at) => envelope(String(5000 + at), `post ${String(at)}`, "78"))
  await writeFile(join(directory, "by-id.ndjson"), lines.join("\n"))
  await json("import", "by-id.ndjson")
  const ids = Array.from({ length: 120 }, (_, at) => String(5119 - at))
  const all = await sluice("posts", "get", ...ids, "404", "--json")
  expect(all.status).toBe(0)
  const shown = all.stdout.trimEnd().split("\n")
  expect(shown.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(ids)
  expect(all.stderr).toBe("Could not find tweet with ids: [404].\n")
  const one = await sluice("posts", "get", "5000")
  expect(one.stdout).toMatch(/^5000 +\S+Z {2}post 0\n$/)
  const none = await sluice("posts", "get", "404", "405")
  expect(none).toMatchObject({ status: 1, stdout: "" })
  expect(none.stderr).toContain("[404]")
  expect((await sluice("posts", "get", "@wren")).stderr).toContain("Expected the id of a post")
})

test("a post is written, answered and edited, and what the server refuses is printed", async () => {
  const created = await sluice("posts", "create", "--text", "written by a command")
  const id = created.stdout.trim()
  expect(created).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d{19}\n$/) as string })
  const reply = await json("posts", "create", "--text", "an answer", "--reply-to", id)
  expect(reply).toMatchObject({ text: "an answer" })
  const edited = await json("posts", "create", "--text", "written better", "--edit", id)
  expect(edited).toMatchObject({ edit_history_tweet_ids: [id, expect.any(String) as string] })
  const again = await sluice("posts", "create", "--text", "written better")
  expect(again).toMatchObject({ status: 1, stdout: "" })
  expect(again.stderr).toContain("duplicate content")
  expect((await sluice("posts", "create", "--text", "a", "--quote", "one")).stderr).toContain(
    "Expected the id of a post",
  )
})

test("posts are searched and counted, page after page", async () => {
  const startMs = Date.parse("2026-03-14T09:00:00Z")
  const idAt = (minute: number) => String(BigInt(startMs + minute * 60_000 - snowflakeEpochMs) << 22n)
  const lines = Array.from({ length: 130 }, (_, at) => envelope(idAt(at), `a plover ${String(at)}`, "79"))
  await writeFile(join(directory, "searched.ndjson"), lines.join("\n"))
  await json("import", "searched.ndjson")
  const ids = Array.from({ length: 130 }, (_, at) => idAt(129 - at))

  const all = await sluice("search", "plover", "--all", "--max", "1000", "--json")
  const shown = all.stdout.trimEnd().split("\n")
  expect(shown.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(ids)
  const some = await sluice("search", "plover", "--all", "--max", "3", "--until", "2026-03-14T10:00Z")
  expect(some.stdout).toMatch(/^\d{19} +\S+Z {2}a plover 59\n(?:.+\n){2}$/)
  expect(some.stderr).toBe("There may be older posts: use --max.\n")
  expect(await sluice("search", "plover nobody")).toMatchObject({ stdout: "", stderr: "No posts found.\n" })
  // An id of a platform of its own holds no time.
  const now = new Date().toISOString()
  await writeFile(
    join(directory, "own-id.ndjson"),
    JSON.stringify({ data: { id: "42", text: "a dotterel", created_at: now } }),
  )
  await json("import", "own-id.ndjson")
  await expect
    .poll(async () => (await sluice("search", "dotterel")).stderr)
    .toBe(
      "No posts found.\nPosts match whose ids hold no time, since they are no snowflakes, " +
        "and a search by time leaves them out: use --all.\n",
    )
  expect((await sluice("search", "dotterel", "--all")).stdout).toContain("a dotterel")
  expect((await sluice("search", "plover (")).stderr).toMatch(/^error: .+\n/)

  const span = ["--since", "2026-03-14T09:00Z", "--until", "2026-03-14T12:00Z"]
  const counted = await sluice("counts", "plover", "--all", ...span)
  expect(counted.stdout).toMatch(/^FROM +TO +POSTS\n(?:2026-03-14T\d\d:00:00Z +\S+Z +\d+\n){3}██▂\n130 posts\n$/)
  const byMinute = await sluice("counts", "plover", "--all", ...span, "--granularity", "minute", "--json")
  expect(byMinute.stdout.trimEnd().split("\n")).toHaveLength(180)
  const month = await sluice(
    "counts",
    "plover",
    "--all",
    "--since",
    "2026-01-01T00:00Z",
    "--until",
    "2026-03-15T00:00Z",
    "--granularity",
    "day",
    "--json",
  )
  const days = month.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { start: string; tweet_count: number })
  expect(days.map(({ start }) => start)).toEqual(days.map(({ start }) => start).toSorted())
  expect([days.length, days.at(-1)?.tweet_count]).toEqual([73, 130])
})

test("an unknown user is an error", async () => {
  const outcome = await sluice("posts", "4040404040")
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toContain("4040404040")
})

test("a rule test explains why the posts of a file match", async () => {
  const file = join(directory, "animals.ndjson")
  const text = "A 🐈 cat, and another cat"
  await writeFile(file, [envelope("31", text, "7"), "not json", "", envelope("32", "a dog", "7")].join("\n"))

  const exact = await sluice("rules", "test", "cat", "--file", file, "--json")
  expect(exact.status).toBe(0)
  expect(JSON.parse(exact.stdout)).toEqual({
    id: "31",
    spans: [
      { operator: "cat", where: "text", start: 4, end: 7 },
      { operator: "cat", where: "text", start: 21, end: 24 },
    ],
  })
  expect(exact.stderr).toContain("line 2: Invalid JSON: Expected an envelope")

  const shown = await sluice("rules", "test", "cat", "--file", file)
  expect(shown.stdout).toBe(`31  ${text}\n  cat (text 4–7) · cat (text 21–24)\n`)
  expect(shown.stderr).toContain("1 of 2 posts match cat")
})

test("connections are listed, and ended by their ids, by endpoint or all, each with a disconnect message", async () => {
  const { url, app } = dev.ready
  const open = async (path: string): Promise<Response> => {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${app.bearer_token}` } })
    expect(response.status).toBe(200)
    return response
  }
  expect(await sluice("connections", "list")).toEqual({ status: 0, stdout: "", stderr: "No connections.\n" })
  const sample = await open("/2/tweets/sample/stream")
  const half = await open("/2/tweets/sample10/stream?partition=1")
  const [second, first] = (await json("connections", "list")) as { id: string }[]
  expect([first, second]).toMatchObject([{ endpoint_name: "sample_stream" }, { endpoint_name: "sample10_stream" }])
  const shown = await sluice("connections", "list")
  expect(shown.stdout).toMatch(/^ID +ENDPOINT +CLIENT +CONNECTED +DISCONNECTED +REASON\n(?:\S+ +sample.+\n){2}$/)

  for (const choice of [[], ["--all", "--endpoint", "sample_stream"], [first?.id ?? "", "--all"]]) {
    expect(await sluice("connections", "end", ...choice)).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^error: specify ids of connections, --endpoint or --all\n/) as string,
    })
  }
  const unknown = "01890a5d-ac96-774b-bcce-b302099a8057"
  expect(await sluice("connections", "end", first?.id ?? "", unknown)).toEqual({
    status: 1,
    stdout: "Ended 1 connection.\n",
    stderr: `error: Could not end 1 connection: not open.\n  ${unknown}: No active connection with this id.\n`,
  })
  expect(await sample.text()).toContain("ForceDisconnect")
  expect(await json("connections", "end", "--endpoint", "sample10_stream")).toEqual([
    { uuid: second?.id, success: true },
  ])
  expect(await half.text()).toContain("ForceDisconnect")
  expect((await sluice("connections", "end", "--endpoint", "firehose")).stderr).toContain("[firehose] is not one of [")
  const again = await open("/2/tweets/sample/stream")
  expect(await sluice("connections", "end", "--all")).toMatchObject({ status: 0, stdout: "Ended 1 connection.\n" })
  expect(await again.text()).toContain("ForceDisconnect")
  expect(await json("connections", "list", "--status", "inactive")).toMatchObject(
    Array.from({ length: 3 }, () => ({ disconnect_reason: "ForceDisconnect" })),
  )
})

/** Runs a command where there is no server and nothing that names one. */
function alone(...args: string[]): Promise<Run> {
  return run(args, { cwd: "/" })
}

test("a rule test on a file needs no server, and accepts files of any length", async () => {
  const file = join(directory, "large.ndjson")
  const filler = "lorem ipsum ".repeat(2000)
  const lines = Array.from({ length: 120 }, (_, at) =>
    envelope(String(at + 1), `${filler}${at % 2 === 0 ? "cat" : ""}`, "7"),
  )
  await writeFile(file, lines.join("\n"))
  const outcome = await alone("rules", "test", "cat", "--file", file, "--json")
  expect(outcome.stdout.trimEnd().split("\n")).toHaveLength(60)
  expect(outcome.stderr.split("\n")).toEqual([
    "60 of 120 posts match cat (50%)",
    "warning: 'cat' matches 60 of 120 posts (50 %): narrow it down",
    "",
  ])
})

test("a rule test on a file knows the places that any of its posts describes; on a pipe, earlier posts'", async () => {
  const place = { id: "3078869807f9dd36", name: "Berlin", full_name: "Berlin, Germany", country_code: "DE" }
  const original = { id: "41", text: "servus", geo: { place_id: place.id } }
  const repost = (id: string): string =>
    JSON.stringify({
      data: { id, text: "RT @wren: servus", referenced_tweets: [{ type: "retweeted", id: "41" }] },
      includes: { tweets: [original] },
    })
  const original41 = JSON.stringify({ data: original, includes: { places: [place] } })
  const posts = [repost("42"), original41, repost("43")].join("\n")
  const file = join(directory, "places.ndjson")
  await writeFile(file, posts)
  const ids = ({ stdout }: Run): readonly string[] =>
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: string }).id)
  expect(ids(await alone("rules", "test", "place:berlin", "--file", file, "--json"))).toEqual(["42", "41", "43"])
  const piped = await run(["rules", "test", "place:berlin", "--file", "-", "--json"], {
    cwd: "/",
    input: posts,
  })
  expect(ids(piped)).toEqual(["41", "43"])
})

test("without a file a rule is tested on the newest stored posts", async () => {
  await writeFile(
    join(directory, "ferret.ndjson"),
    [
      JSON.stringify({ data: { id: "90000", text: "é", created_at: "2026-03-14T00:00:00.000Z" } }),
      JSON.stringify({ data: { id: "90001", text: "a férret", created_at: "2026-03-14T12:00:00.000Z" } }),
    ].join("\n"),
  )
  await json("import", "ferret.ndjson")
  const outcome = await sluice("rules", "test", "férret", "--json")
  expect(JSON.parse(outcome.stdout)).toMatchObject({ id: "90001" })
  expect(outcome.stderr).toMatch(
    /^1 of \d+ posts match férret \(\d[\d.]*%, about \d[\d.]* per day\)\nThe rule costs \d+ steps? /,
  )
  expect((await sluice("rules", "test", "ferret", "--json")).stdout).toBe("")
  expect(JSON.parse((await sluice("rules", "test", "ferret", "--mode", "search", "--json")).stdout)).toMatchObject({
    id: "90001",
  })
})

test("a rule test in search mode matches as a search does, on a file too", async () => {
  const file = join(directory, "accents.ndjson")
  await writeFile(file, [envelope("51", "un café", "7"), envelope("52", "a cafe", "7")].join("\n"))
  const count = async (...mode: string[]): Promise<string> =>
    (await alone("rules", "test", "cafe", "--file", file, ...mode)).stderr
  expect(await count()).toBe("1 of 2 posts match cafe (50%)\n")
  expect(await count("--mode", "stream")).toBe("1 of 2 posts match cafe (50%)\n")
  expect(await count("--mode", "search")).toBe("2 of 2 posts match cafe (100%)\n")
})

const wrongRule = [
  "  form:me has:image",
  "  ^^^^",
  "  Reference to invalid operator 'form' (at position 1). Did you mean 'from'?",
  "  Reference to invalid field 'form' (at position 1).",
  "  Try: from:me has:image",
  "",
  "  form:me has:image",
  "          ^^^^^^^^^",
  "  Reference to invalid operator 'has:image'. Operator is not available in current product or product packaging. Please refer to complete available operator list at http://t.co/operators. (at position 9). Did you mean 'has:images'?",
  "  Try: form:me has:images",
  "",
].join("\n")

test("a rule that does not parse is shown with all its problems, wherever it is tried or added", async () => {
  const value = "form:me has:image"
  const file = join(directory, "ferret.ndjson")
  const refused = { status: 1, stdout: "", stderr: `error: The rule has 2 problems.\n${wrongRule}` }
  expect(await alone("rules", "test", value, "--file", file)).toEqual(refused)
  expect(await sluice("rules", "test", value)).toEqual(refused)
  expect(await sluice("rules", "add", value)).toEqual({
    ...refused,
    stderr: `error: The rule was not added.\n${wrongRule}`,
  })
})

test("a query with an operator that search does not have is refused, by server and file alike", async () => {
  const file = join(directory, "accents.ndjson")
  await writeFile(file, envelope("51", "cat", "7"))
  const args = ["rules", "test", "cat list:50", "--mode", "search"]
  const outcomes = [await alone(...args, "--file", file), await sluice(...args)]
  for (const { status, stderr } of outcomes) {
    expect(status).toBe(1)
    expect(stderr).toMatch(/^error: The rule has 1 problem\.\n {2}cat list:50\n {6}\^{4}\n {2}Reference to/)
  }
})

test("control characters in posts and tags are shown, not sent to the terminal; JSON keeps the text", async () => {
  const text = "\u001B[2J\u001B]0;owned\u0007 \u202Egnp.exe \u009B31m"
  await writeFile(join(directory, "hostile.ndjson"), envelope("90002", text, "9"))
  await json("import", "hostile.ndjson")
  const shown = await sluice("posts", "9")
  expect(shown.stdout).toContain("␛[2J␛]0;owned␇ <U+202E>gnp.exe <U+009B>31m")
  const exact = await sluice("posts", "9", "--json")
  expect(JSON.parse(exact.stdout)).toMatchObject({ text })

  const tag = "\u001B[31mtag"
  const rule = (await json("rules", "add", "newt", "--tag", tag)) as { id: string }
  expect(rule).toMatchObject({ tag })
  expect((await sluice("rules", "list")).stdout).toContain("␛[31mtag")
  await json("rules", "delete", rule.id)
})

test("the address and the token come from flags, then the environment, then the credentials file", async () => {
  const { url, app } = dev.ready
  const elsewhere = { cwd: "/" }
  const byFlags = await run(["rules", "list", "--url", url, "--token", app.bearer_token], elsewhere)
  const env = { SLUICE_URL: url, SLUICE_TOKEN: app.bearer_token }
  const byEnvironment = await run(["rules", "list"], { ...elsewhere, env })
  const byFile = await run(["rules", "list", "--data", join(directory, ".sluice")], elsewhere)
  const byDataVariable = await run(["rules", "list"], {
    ...elsewhere,
    env: { SLUICE_DATA: join(directory, ".sluice") },
  })
  expect([byFlags, byEnvironment, byFile, byDataVariable].map(({ status }) => status)).toEqual([0, 0, 0, 0])
  const flagWins = await run(["rules", "list", "--token", "wrong"], { ...elsewhere, env })
  expect(flagWins).toMatchObject({ status: 1, stderr: expect.stringContaining("Unauthorized") })
})

test("a token that the server does not know is named by its place, with the server and what to do", async () => {
  const { url } = dev.ready
  const file = join(directory, "wrong-token")
  await writeFile(file, "sluice_app_wrong\n")
  const other = join(directory, "other")
  await mkdir(other)
  const saved = JSON.parse(await readFile(join(directory, ".sluice/credentials.json"), "utf8")) as object
  const app = { ...dev.ready.app, bearer_token: "sluice_app_wrong" }
  await writeFile(join(other, "credentials.json"), JSON.stringify({ ...saved, app }))
  const refused = async (args: readonly string[], env: Record<string, string> = {}): Promise<string> => {
    const { status, stderr } = await run(["rules", "list", ...args], { cwd: "/", env })
    expect(status).toBe(1)
    return stderr
  }
  const error = (place: string): string =>
    `error: Unauthorized: the server at ${url} does not know the token of ${place}.\n`
  const byVariable = await refused(["--url", url], { SLUICE_TOKEN: "sluice_app_wrong" })
  expect(byVariable).toContain(error("SLUICE_TOKEN"))
  expect(byVariable).toContain("or unset SLUICE_TOKEN for that of `sluice dev` in this directory.")
  const byOption = await refused(["--url", url, "--token-file", file])
  expect(byOption).toContain(error(file))
  expect(byOption).toContain(
    "  Use a token of this server (`sluice app list` and `sluice token list` on its machine).\n",
  )
  const bySaved = await refused(["--data", other])
  expect(bySaved).toContain(error(join(other, "credentials.json")))
  expect(bySaved).toContain("Start `sluice dev` again in that directory")
  for (const text of [byVariable, byOption, bySaved]) expect(text).not.toContain("sluice_app_wrong")
})

function envelope(id: string, text: string, authorId: string): string {
  return JSON.stringify({ data: { id, text, author_id: authorId } })
}

test("a rule is tested on the posts since a time, and backfilled to a webhook", async () => {
  const nowMs = Date.now()
  const idAt = (seconds: number): string => String(BigInt(nowMs - seconds * 1_000 - snowflakeEpochMs) << 22n)
  const lines = [7_200, 3_600, 1_800].map((seconds) => ({ data: { id: idAt(seconds), text: "a capybara" } }))
  const file = join(directory, "past.ndjson")
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
  expect(await sluice("import", file)).toMatchObject({ status: 0 })
  const since = new Date(nowMs - 5_400_000).toISOString()
  const tested = await sluice("rules", "test", "capybara", "--since", since, "--json")
  expect(tested).toMatchObject({ status: 0 })
  const shown = tested.stdout
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { id: string }).id)
  expect(shown).toEqual([idAt(1_800), idAt(3_600)])
  expect(tested.stderr).toMatch(/^2 of \d+ posts match capybara \([\d.]+%, about [\d.]+ per day\)\n/m)
  expect(tested.stderr).toContain("The rule costs 5 steps")
  expect(tested.stderr).not.toContain("are shown")

  const webhook = (await json("webhooks", "add", receiver.url)) as { id: string }
  expect(await sluice("links", "add", webhook.id)).toMatchObject({ status: 0 })
  expect(await sluice("rules", "add", "capybara", "--backfill", since)).toMatchObject({
    status: 2,
    stderr: "error: A backfill needs both --backfill TIME and --webhook ID.\n",
  })
  const added = await sluice("rules", "add", "capybara", "--backfill", since, "--webhook", webhook.id)
  expect(added).toMatchObject({ status: 0 })
  const [, job = ""] = /Started backfill (\d+)/.exec(added.stderr) ?? []
  const replays = async () => (await json("webhooks", "replays")) as { job_id: string; state: string }[]
  expect(await replays()).toMatchObject([{ job_id: job, state: "searching", rules: [{ value: "capybara" }] }])
  const cancelled = await json("webhooks", "cancel-replay", job)
  expect(cancelled).toMatchObject({ job_id: job, state: "cancelled" })
  expect(await sluice("webhooks", "cancel-replay", job)).toMatchObject({ status: 1 })

  const [rule] = (await json("rules", "list")) as { id: string; value: string }[]
  const again = await json("rules", "backfill", rule?.id ?? "", "--since", since, "--webhook", webhook.id)
  expect(again).toMatchObject({ state: "searching" })
  await expect.poll(async () => (await replays())[0]?.state, { timeout: 30_000 }).toBe("complete")
  const delivered = receiver.received.filter(({ headers }) => /^replay_\d+_/.test(String(headers["webhook-id"])))
  expect(delivered.map(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id)).toEqual([
    idAt(3_600),
    idAt(1_800),
  ])
  await sluice("rules", "delete", rule?.id ?? "")
  await sluice("webhooks", "delete", webhook.id)

  const many = Array.from({ length: 101 }, (_, at) =>
    envelope(String(BigInt(idAt(900)) + BigInt(at)), "a capybara", "7"),
  )
  await writeFile(file, many.map((line) => `${line}\n`).join(""))
  expect(await sluice("import", file)).toMatchObject({ status: 0 })
  const newest = await sluice("rules", "test", "capybara", "--since", since, "--json")
  expect(newest.stdout.trim().split("\n")).toHaveLength(100)
  expect(newest.stderr).toContain("Only the newest 100 of them are shown.")
  const later = await sluice("rules", "test", "capybara", "--since", "2999-01-01T00:00Z")
  expect(later.stderr).toContain("The server has no posts since 2999-01-01T00:00")
  await writeFile(file, "")
  const empty = await sluice("rules", "test", "capybara", "--file", file)
  expect(empty.stderr).toContain("past.ndjson has no posts.")
})
