import { once } from "node:events"
import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { nodeHandler, receiver as receiverOf } from "@sluice/client/receiver"
import { describe, expect, test } from "vitest"
import { share } from "../../../../test/support/extent.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { startSluice } from "./index.ts"

describe("posts and what comes of them", () => {
  test("a post reaches the receiver of a rule, with the fields that were asked for", async () => {
    await using sluice = await startSluice()
    const receiver = await sluice.receive({
      rules: ["heron has:images"],
      fields: { "tweet.fields": ["lang", "author_id"], expansions: ["author_id"] },
    })
    await sluice.post("A heron without an image")
    const { id } = await sluice.post({ text: "A heron", author: "rook", lang: "en", media: ["photo"] })
    const delivery = await receiver.next()
    expect(delivery.post).toMatchObject({ id, text: "A heron", lang: "en" })
    expect(delivery.body.includes?.users).toMatchObject([{ username: "rook" }])
    expect(delivery.isRepeat).toBe(false)
    expect(await receiver.settled()).toHaveLength(1)
  })

  test("replies, quotes, reposts and edits match their operators", async () => {
    await using sluice = await startSluice()
    const rules = ["is:reply to:rook", "is:quote gate", "is:retweet retweets_of:rook", "edited from:rook"]
    const receiver = await sluice.receive({ rules })
    const original = await sluice.post({ text: "Who is there?", author: "rook" })
    await sluice.post({ text: "A heron", replyTo: original })
    await sluice.post({ text: "At the gate", quotes: original })
    await sluice.post({ reposts: original, author: "heron" })
    await sluice.post({ text: "Who is there? (edited)", edits: original })
    const delivered = await receiver.settled()
    const values = await sluice.client.rules.get()
    const matched = delivered.map(
      ({ body }) => values.data?.find(({ id }) => id === body.matching_rules?.[0]?.id)?.value,
    )
    expect(new Set(matched)).toEqual(new Set(rules))
    expect(delivered).toHaveLength(rules.length)
  })

  test("posts are searched and users are looked up, as on any server", async () => {
    await using sluice = await startSluice()
    await sluice.post({ text: "A heron", author: "rook" })
    await expect.poll(async () => (await sluice.client.posts.searchRecent({ query: "heron" })).data?.length).toBe(1)
    expect((await sluice.client.users.getByUsername("rook")).data?.id).toBe("1001")
    const token = await sluice.userToken("rook")
    const response = await fetch(`${sluice.url}/2/users/me`, { headers: { authorization: `Bearer ${token}` } })
    expect(await response.json()).toMatchObject({ data: { id: "1001", username: "rook" } })
  })

  test("a stream is open when it is returned, and comes back after it was cut", async () => {
    await using sluice = await startSluice()
    await using stream = await sluice.stream({ rules: ["heron"] })
    await sluice.post("A first heron")
    expect((await stream.next()).data?.text).toBe("A first heron")
    expect(await sluice.disconnectStreams()).toBe(1)
    await sluice.post("A second heron")
    expect((await stream.next()).data?.text).toBe("A second heron")
    expect(stream.all()).toHaveLength(2)
    await stream.close()
    await expect(stream.next()).rejects.toThrow("The stream was closed.")
  })

  test("a stream that is cut before its first post has the posts that come after it", async () => {
    await using sluice = await startSluice()
    await using stream = await sluice.stream({ rules: ["heron"] })
    expect(await sluice.disconnectStreams()).toBe(1)
    await sluice.post("A heron")
    expect((await stream.next()).data?.text).toBe("A heron")
  })

  test("the program under test is a webhook at its own URL", async () => {
    await using sluice = await startSluice()
    const texts: string[] = []
    const onDelivery = ({ text }: { readonly text: string }): void => void texts.push(text)
    const server = createServer(nodeHandler(receiverOf({ ...sluice.secrets, onDelivery }))).listen(0, "127.0.0.1")
    await once(server, "listening")
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook`
    await sluice.deliverTo(url, { rules: ["heron"] })
    await sluice.post("A heron")
    await expect.poll(() => texts.length).toBe(1)
    server.closeAllConnections()
    server.close()
  })

  test("trouble makes deliveries fail and come again", async () => {
    await using sluice = await startSluice()
    const receiver = await sluice.receive({ rules: ["heron"] })
    await sluice.trouble({ kind: "responses", response: "cut" })
    await sluice.post("A heron")
    const first = await receiver.next()
    await sluice.clock.advance("1m")
    const second = await receiver.next()
    expect([first.isRepeat, second.isRepeat, second.id === first.id]).toEqual([false, true, true])
  })

  test("apps see nothing of each other", async () => {
    await using sluice = await startSluice()
    const other = await sluice.newApp("other")
    const [mine, theirs] = await Promise.all([sluice.receive({ rules: ["heron"] }), other.receive({ rules: ["rook"] })])
    await other.post("A heron")
    await sluice.post("A rook")
    expect((await mine.settled()).map(({ post }) => post.text)).toEqual(["A heron"])
    expect((await theirs.settled()).map(({ post }) => post.text)).toEqual(["A rook"])
    expect((await other.client.webhooks.get()).data).toHaveLength(1)
    expect(other.env).toMatchObject({ SLUICE_URL: sluice.url, SLUICE_TOKEN: other.token })
  })
})

describe("time that a test moves", () => {
  test("25 hours of retries: every attempt at its time, and a delivery when the endpoint is back", async () => {
    await using sluice = await startSluice()
    let status = 503
    const receiver = await sluice.receive({ rules: ["heron"], respond: () => status })
    await sluice.post("A heron")
    await sluice.clock.advance("25h")
    const attempts = receiver.all().length
    // After its first attempts, an endpoint that is down is probed every few minutes.
    expect(attempts).toBeGreaterThan(200)
    status = 200
    await sluice.clock.advance("10m")
    expect(await receiver.settled()).toHaveLength(attempts + 1)
    const { data } = await sluice.client.webhooks.getDetail(receiver.webhookId)
    expect(data.link?.total).toMatchObject({ delivered: 1, retrying: 0, dead_letters: 0 })
  })

  test("a webhook is challenged again after a day, and becomes invalid when it fails", async () => {
    await using sluice = await startSluice()
    const receiver = await sluice.receive({ rules: ["heron"] })
    const detail = async () => (await sluice.client.webhooks.getDetail(receiver.webhookId)).data
    const before = Date.parse((await detail()).checked_at ?? "")
    await sluice.clock.advance("25h")
    const checkedAfterHours = (Date.parse((await detail()).checked_at ?? "") - before) / 3_600_000
    expect(checkedAfterHours).toBeGreaterThanOrEqual(24)
    expect(checkedAfterHours).toBeLessThan(25)
    await sluice.trouble({ kind: "challenges", response: "500", next: 1_000 })
    await sluice.clock.advance("2d")
    expect((await detail()).valid).toBe(false)
  })

  test("retention deletes what is old, and new posts have the moved time", async () => {
    await using sluice = await startSluice({ settings: { SLUICE_POST_RETENTION_DAYS: "2" } })
    const old = await sluice.post("An old heron")
    await sluice.clock.advance("3d")
    const young = await sluice.post("A young heron")
    const at = Date.parse(young.envelope.data["created_at"] as string)
    expect(Math.abs(at - sluice.clock.now().getTime())).toBeLessThan(60_000)
    const { data } = await sluice.client.posts.getByIds({ ids: [old.id, young.id] })
    expect(data?.map(({ id }) => id)).toEqual([young.id])
  })

  test.each(["tomorrow", "-1h", "", -1, Number.NaN, Infinity])("%s is no duration", async (duration) => {
    await using sluice = await startSluice({ settings: { SLUICE_SEARCH: "off" } })
    await expect(sluice.clock.advance(duration)).rejects.toThrow('expected ms, or a time such as "90s", "25h" or "7d".')
  })
})

describe("what is wrong is said", () => {
  test("a wait that ends says what it waited for, and what the link and the rules are", async () => {
    await using sluice = await startSluice()
    const receiver = await sluice.receive({ rules: ["heron"] })
    await sluice.post("A rook")
    await expect(receiver.next()).rejects.toThrow(
      "No delivery came within 4 s. The link has had 0 matches: 0 delivered, 0 to be retried, 0 dead letters. " +
        "The webhook is valid. Its rules: heron.",
    )
  })

  test("a refused rule and a refused post have the server's reason", async () => {
    await using sluice = await startSluice({ settings: { SLUICE_SEARCH: "off" } })
    await expect(sluice.addRules("heron", "(")).rejects.toThrow("The rule ( was refused: ")
    await expect(sluice.post({ text: "x", data: { created_at: "never" } })).rejects.toThrow("The post was refused: ")
    const { envelope } = await sluice.post("A heron")
    await expect(sluice.post({ text: "again", data: envelope.data })).rejects.toThrow("The post was not stored")
  })

  test("a wrong setting is named, with the one that was meant", async () => {
    await expect(startSluice({ settings: { SLUICE_SERCH: "on" } })).rejects.toThrow("Did you mean SLUICE_SEARCH?")
  })
})

test(
  "servers one after another, and ten at once, leave neither a handle nor a file",
  { timeout: 120_000 },
  async () => {
    const module = fileURLToPath(new URL("index.ts", import.meta.url))
    const program = `
    import { startSluice } from ${JSON.stringify(module)}
    const use = async () => {
      const sluice = await startSluice({ settings: { SLUICE_SEARCH: "off" } })
      const receiver = await sluice.receive({ rules: ["heron"] })
      await sluice.stream()
      await sluice.post("A heron")
      await receiver.next()
      await sluice.close()
    }
    await startSluice({ settings: { SLUICE_SEARCH: "maybe" } }).catch(() => console.log("refused"))
    for (let i = 0; i < ${40 * share(4)}; i++) await use()
    await Promise.all(Array.from({ length: 10 }, use))
    console.log("ended")`
    await using temporary = await temporaryDirectory()
    await using own = await temporaryDirectory()
    const file = join(own.path, "servers.ts")
    await writeFile(file, program)
    const env = { ...process.env, TMPDIR: temporary.path }
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { env, timeout: 110_000 })
    expect([stdout, stderr]).toEqual(["refused\nended\n", ""])
    expect(readdirSync(temporary.path)).toEqual([])
  },
)
