import { cp } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { envelope, startTestServer } from "../../../../test/support/test-server.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../command.testing.ts"

let directory: TemporaryDirectory
let data: string

beforeEach(async () => {
  directory = await temporaryDirectory()
  data = join(directory.path, "data")
})

afterEach(() => directory.remove())

test("a copy of the files that is marked as restored assigns other ids than the original", async () => {
  const idsOf: (readonly string[])[] = []
  let token = ""
  {
    await using at = await startTestServer({ data })
    token = at.app.bearer_token
    await at.send("POST", "/2/tweets/search/stream/rules", { add: [{ value: "cat" }] })
    const webhook = await at.webhook()
    await at.send("POST", `/2/tweets/search/webhooks/${webhook}`)
    expect(await run(["mark-restored", "--data", data])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is in use by another Sluice") as string,
    })
  }
  const copies = [data, join(directory.path, "one"), join(directory.path, "two")]
  for (const copy of copies.slice(1)) await cp(data, copy, { recursive: true })
  for (const copy of copies.slice(1)) {
    const marked = await run(["mark-restored", "--data", copy])
    expect(marked.status, marked.stderr).toBe(0)
    expect(marked.stdout).toMatch(/event ids have the epoch [0-9a-f]{12}\./)
  }
  for (const copy of copies) {
    await using at = await startTestServer({ data: copy })
    await at.call("/sluice/v1/posts", {
      method: "POST",
      token,
      headers: { "content-type": "application/x-ndjson" },
      body: `${JSON.stringify(envelope(1, "a cat"))}\n`,
    })
    const webhook = async () => (await at.call("/2/webhooks", { token })).body.data[0].id as string
    const attempts = `/sluice/v1/links/${await webhook()}/attempts`
    const events = async () =>
      ((await at.call(attempts, { token })).body.data as { event_id: string }[]).map(({ event_id: id }) => id)
    await expect.poll(async () => (await events()).length, { timeout: 20_000 }).toBeGreaterThan(0)
    idsOf.push([...new Set(await events())])
  }
  expect(idsOf[0]).toEqual([expect.stringMatching(/^msg_\d+_1$/)])
  for (const ids of idsOf.slice(1)) expect(ids).toEqual([expect.stringMatching(/^msg_\d+_[0-9a-f]{12}_1$/)])
  expect(new Set(idsOf.flat()).size).toBe(3)
})

test("the help names the copies of PostgreSQL's files that need a mark", async () => {
  const { stdout } = await run(["mark-restored", "--help"])
  expect(stdout.replaceAll(/\s+/g, " ")).toContain(
    "copy of PostgreSQL's files that was started without recovery.signal",
  )
})

test("a directory without a store is not marked, and none is made in it", async () => {
  expect(await run(["mark-restored", "--data", data])).toMatchObject({ status: 1 })
  expect(await run(["mark-restored", "--data", directory.path])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("holds no store") as string,
  })
})
