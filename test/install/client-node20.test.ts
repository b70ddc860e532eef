/** `@sluice/client` from its tarball, on the oldest Node that it is for, against a real server. */
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, inject, test } from "vitest"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { startTestServer } from "../support/test-server.testing.ts"
import { nodeOf, runUnder } from "./nodes.testing.ts"

const program = `
  import { createServer } from "node:http"
  import { createClient, RuleSyncError } from "@sluice/client"
  import { nodeHandler, receiver } from "@sluice/client/receiver"

  const [url, token, consumerSecret] = process.argv.slice(2)
  const client = createClient({ url, token })
  const seen = {}

  seen.synced = (await client.rules.sync([{ value: "cat" }, { value: "dog" }])).added.length
  seen.refused = await client.rules.sync([{ value: "(cat" }]).catch((error) => error instanceof RuleSyncError && error.title)

  let signingKeys = []
  let arrived
  const delivery = new Promise((resolve) => (arrived = resolve))
  const receive = receiver({
    consumerSecret,
    get signingKeys() { return signingKeys },
    onDelivery: ({ kind, event }) => arrived([kind, event.data.text]),
  })
  const endpoint = createServer(nodeHandler(receive))
  await new Promise((resolve) => endpoint.listen(0, "127.0.0.1", resolve))
  const body = { url: "http://127.0.0.1:" + endpoint.address().port + "/hook" }
  const parameters = { webhook_id: (await client.request("POST", "webhooks", { body })).data.id }
  signingKeys = [(await client.request("GET", "signingKey", { parameters })).data.signing_key]
  await client.request("POST", "link", { parameters })

  const posts = Array.from({ length: 7 }, (_, at) => ({ data: { id: String(at + 1), text: "a cat – 猫", author_id: "7" } }))
  await client.request("POST", "posts", { body: posts.map((post) => JSON.stringify(post)).join("\\n") })
  seen.delivered = await delivery

  for await (const { body } of client.stream({ query: { backfill_minutes: 1 } })) {
    seen.streamed = body.data.text
    break
  }

  const idsOf = async (pages) => {
    const found = []
    for await (const { data } of pages) found.push(data.map(({ id }) => id).join(""))
    return found
  }
  seen.older = await idsOf(client.pages("userPosts", { parameters: { id: "7" }, query: { max_results: 5 } }))
  const { meta } = await client.users.getPosts("7", { max_results: 5 })
  const second = client.users.getPosts("7", { max_results: 5, pagination_token: meta.next_token })
  seen.newer = await idsOf(second.pages({ direction: "newer" }))
  seen.items = ""
  for await (const { id } of second.items({ direction: "newer" })) seen.items += id

  await client.request("DELETE", "link", { parameters })
  endpoint.closeAllConnections()
  endpoint.close()
  console.log(JSON.stringify(seen))`

test.each([20, 22])("the client works on Node %i, and the process ends by itself", async (major) => {
  await using directory = await temporaryDirectory()
  const { path } = directory
  await using server = await startTestServer()
  await writeFile(join(path, "package.json"), '{"type":"module"}\n')
  const install = ["install", "--offline", "--no-audit", "--no-fund", inject("tarballs")["client"] ?? ""]
  await promisify(execFile)("npm", install, { cwd: path })
  await writeFile(join(path, "program.js"), program)
  const { bearer_token: token, consumer_secret: secret } = server.app
  const ended = await runUnder(await nodeOf(major), path, "node", "program.js", server.url, token, secret)
  expect(ended).toMatchObject({ status: 0, stderr: "" })
  expect(JSON.parse(ended.stdout)).toEqual({
    synced: 2,
    refused: expect.any(String),
    delivered: ["match", "a cat – 猫"],
    streamed: "a cat – 猫",
    older: ["76543", "21"],
    newer: ["21", "76543"],
    items: "1234567",
  })
})
