/** `node --test`: a receiver in a process of its own, its retries and its repeats over a day, without waiting. */
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { startSluice } from "sluice/testing"

test("the receiver handles a post once, whatever happens to the response", async (t) => {
  await using sluice = await startSluice()
  const program = spawn(process.execPath, [fileURLToPath(new URL("../receiver.ts", import.meta.url))], {
    env: { ...process.env, PORT: "0", CLIENT_SECRET: sluice.secrets.clientSecret },
    stdio: ["ignore", "pipe", "inherit"],
  })
  t.after(() => program.kill())
  const lines = createInterface(program.stdout)[Symbol.asyncIterator]()
  const line = async (): Promise<string> => String((await lines.next()).value)
  const address = (await line()).replace("listening on ", "")
  const webhookId = await sluice.deliverTo(`${address}/`, { rules: ["heron"] })

  // The receiver gets the delivery, and its response is lost: the server sends it again a second later.
  await sluice.trouble({ kind: "responses", response: "cut" })
  await sluice.post("A heron at the gate")
  assert.match(await line(), /A heron at the gate/)
  await sluice.clock.advance("1m")

  // For a day nothing gets through; then the next post is all that is printed.
  await sluice.trouble({ kind: "responses", response: "503", percent: 100 })
  await sluice.post("A second heron")
  await sluice.clock.advance("25h")
  await sluice.client.trouble.deleteAll()
  await sluice.clock.advance("10m")
  assert.match(await line(), /A second heron/)

  const { data } = await sluice.client.webhooks.getDetail(webhookId)
  assert.deepEqual([data.link?.total.delivered, data.link?.total.retrying], [2, 0])
})
