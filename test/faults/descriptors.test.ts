/** The server runs out of file descriptors: it stays up, and recovers when some are free again. */
import { readdirSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, onTestFinished, test } from "vitest"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

/** Enough to start with, and few enough to run out of them soon. */
const descriptorsMax = 80

/** More connections than descriptors. */
const connections = 150

/** At least this many are free when all connections are closed. */
const freedMin = 15

/** Time without free descriptors. */
const outMs = 2_000

test("a server without free descriptors stays up, and accepts connections again when some are free", async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  await using server = new SluiceProcess(data, { descriptorsMax })
  const app = new AppClient(await server.mustBeReady())
  await using endpoint = await WebhookReceiver.start(app.consumerSecret)
  await app.addRule("cat")
  const webhookId = await app.link(endpoint.url)
  // A response in progress, on a connection from before.
  const ingesting = openIngest(app)
  expect(await ingesting.say(postLine(1, "a cat"))).toBe("taken")
  await endpoint.arrived(1)

  const sockets: Socket[] = []
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()))
  for (let count = 0; count < connections; count += 1) {
    const socket = connect(Number(new URL(app.url).port), "127.0.0.1")
    socket.on("error", () => undefined)
    // An unfinished request holds its connection for as long as a request may take.
    socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n")
    sockets.push(socket)
  }
  const openDescriptors = (): number => readdirSync(`/proc/${server.pid}/fd`).length
  await waitFor(openDescriptors, (open) => open >= descriptorsMax - 1)
  // The store may need a descriptor too. The client sends refused posts again later.
  const [second, third] = [postLine(2, "another cat"), postLine(3, "a third cat")]
  const wasTaken = (await ingesting.say(second)) === "taken"
  await sleep(outMs)
  expect(openDescriptors()).toBeGreaterThanOrEqual(descriptorsMax - 1)
  expect(server.isRunning, server.errors).toBe(true)

  for (const socket of sockets) socket.destroy()
  await waitFor(openDescriptors, (open) => open < descriptorsMax - freedMin)
  expect(await app.ingest([second, third])).toEqual(
    wasTaken ? { accepted: 1, duplicates: 1 } : { accepted: 2, duplicates: 0 },
  )
  expect(await app.caughtUp(webhookId)).toMatchObject({
    position: 3,
    total: { delivered: 3, dead_letters: 0 },
  })
  expect(new Set(endpoint.postIds)).toEqual(new Set(["1", "2", "3"]))

  server.end("SIGTERM")
  expect((await server.ended()).code).toBe(0)
})

/** An endless body of posts, each batch of which is acknowledged or, at the end, refused. */
function openIngest(app: AppClient): { say(line: string): Promise<"taken" | "refused"> } {
  const socket = connect(Number(new URL(app.url).port), "127.0.0.1")
  onTestFinished(() => void socket.destroy())
  let response = ""
  let said = 0
  socket.on("data", (chunk: Buffer) => (response += chunk.toString()))
  socket.write(
    `POST /sluice/v1/posts?ack=batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\n` +
      "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
  )
  const isTaken = (): boolean => response.split('"accepted":1').length - 1 >= said
  const isRefused = (): boolean => response.includes('"status":503')
  return {
    async say(line) {
      socket.write(`${(Buffer.byteLength(line) + 1).toString(16)}\r\n${line}\n\r\n`)
      said += 1
      await waitFor(
        () => response,
        () => isTaken() || isRefused(),
      )
      return isTaken() ? "taken" : "refused"
    },
  }
}
