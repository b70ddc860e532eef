/**
 * Posts come far faster than they can be stored: the senders are held back, nothing of what was acknowledged is lost,
 * and the memory does not grow with what is still to come.
 */
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, onTestFinished, test } from "vitest"
import { AppClient, postLine } from "./app-client.ts"
import { Endpoint } from "./endpoint.ts"
import { SluiceProcess } from "./sluice-process.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

const senders = 32
const burstMs = 2_000

/** Written at a time, and refused by the socket when the server takes no more. */
const chunkPosts = 100

/** What the process may take more than before the burst, however much is sent. */
const grownBytesMax = 600_000_000

/** One in so many posts matches the rule of the link. */
const matchEvery = 50

test(
  "a burst is held back before memory grows, and none of what was acknowledged is lost",
  { timeout: 60_000 },
  async () => {
    const data = join(temporaryDirectory(), "data")
    await using server = new SluiceProcess(data)
    const app = new AppClient(await server.mustBeReady())
    await using endpoint = await Endpoint.start(app.consumerSecret)
    await app.addRule("cat")
    const webhookId = await app.link(endpoint.url)
    await app.pour([postLine(1, "to begin with")])

    const beforeBytes = residentBytes(server.pid)
    let mostBytes = beforeBytes
    const bursts = Array.from({ length: senders }, (_, sender) => new Burst(app, 1_000_000 * (sender + 1)))
    const until = performance.now() + burstMs
    while (performance.now() < until) {
      for (const burst of bursts) burst.write()
      mostBytes = Math.max(mostBytes, residentBytes(server.pid))
      await sleep(5)
    }
    const answers = await Promise.all(bursts.map((burst) => burst.end()))
    mostBytes = Math.max(mostBytes, residentBytes(server.pid))

    // The fault has fired: every sender had more to send than was taken from it.
    const refused = bursts.map((burst) => burst.refusedWrites)
    console.log(
      `overload: ${sum(answers)} posts acknowledged, ${sum(refused)} writes held back, ` +
        `${(beforeBytes / 1e6).toFixed()} MB, ${(mostBytes / 1e6).toFixed()} MB at most`,
    )
    expect(Math.min(...refused)).toBeGreaterThan(0)
    expect(mostBytes - beforeBytes).toBeLessThan(grownBytesMax)
    expect(answers).toEqual(bursts.map((burst) => burst.sent))

    // All of it is stored, and what matches is delivered.
    const matching = sum(bursts.map((burst) => burst.matching))
    const { head, total } = await app.caughtUp(webhookId)
    expect({ head, delivered: total.delivered }).toEqual({ head: matching, delivered: matching })
    expect(endpoint.eventIds.size).toBe(matching)
    for (const burst of bursts) {
      const again = burst.sample(100)
      expect(await app.pour(again)).toEqual({ accepted: 0, duplicates: again.length })
    }
  },
)

/** A sender that writes without regard, and keeps in memory what is not taken from it. */
class Burst {
  readonly #socket: Socket
  readonly #firstId: number
  #answer = ""
  #isFull = false
  sent = 0
  refusedWrites = 0

  constructor(app: AppClient, firstId: number) {
    this.#firstId = firstId
    this.#socket = connect(Number(new URL(app.url).port), "127.0.0.1")
    onTestFinished(() => void this.#socket.destroy())
    this.#socket.on("data", (bytes: Buffer) => (this.#answer += bytes.toString()))
    this.#socket.on("drain", () => (this.#isFull = false))
    this.#socket.write(
      `POST /sluice/v1/posts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\n` +
        "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
    )
  }

  get matching(): number {
    return Math.ceil(this.sent / matchEvery)
  }

  /** A chunk of posts; none while the last one is not taken. */
  write(): void {
    if (this.#isFull) {
      this.refusedWrites += 1
      return
    }
    const text = Array.from({ length: chunkPosts }, () => `${this.#post(this.sent++)}\n`).join("")
    this.#isFull = !this.#socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
  }

  /** Ends the body: how many posts were acknowledged. */
  async end(): Promise<number> {
    const closed = new Promise((resolve) => this.#socket.once("close", resolve))
    this.#socket.write("0\r\n\r\n")
    await closed
    expect(this.#answer).toMatch(/^HTTP\/1\.1 200 /)
    return Number(/"accepted":(\d+)/.exec(this.#answer)?.[1])
  }

  /** Some of the posts that were sent, spread over all of them. */
  sample(count: number): string[] {
    const step = Math.max(1, Math.floor(this.sent / count))
    return Array.from({ length: Math.min(count, this.sent) }, (_, index) => this.#post(index * step))
  }

  #post(index: number): string {
    const text = index % matchEvery === 0 ? "a cat" : "no such animal"
    return postLine(this.#firstId + index, `${text} ${"and so on ".repeat(200)}`)
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** Source: proc(5), `VmRSS`, in units of 1,024 bytes. */
function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1_024
}
