/**
 * Posts come far faster than the server can store them: it holds back the senders, loses no acknowledged post, and its
 * memory does not grow with the pending input.
 *
 * The speed of disks differs, so during the burst the server cannot store at all: another process holds the store's
 * only lock, as `sluice app create` does for a moment. The server must keep in memory all that it accepts in that time.
 */
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, onTestFinished, test } from "vitest"
import { AppClient, postLine } from "./app-client.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const senders = 8

/** Longest time without storing. A little less than the store waits for another process. */
const standstillMsMax = 4_500

/** A sender that the socket refuses this many times running, with time for the network between, is held back. */
const refusalsMin = 50
const lookEveryMs = 10

/** Posts of one write; the socket refuses it when the server accepts no more. */
const chunkPosts = 100

/**
 * Allowed growth of the process's memory since before the burst, however much senders send. It is 50 to 70 MB; without
 * back pressure it was 500 MB in this time.
 */
const grownBytesMax = 200_000_000

/** One post in this many matches the rule of the link. */
const matchEvery = 50

test(
  "the server holds back a burst before its memory grows, and loses no acknowledged post",
  { timeout: 180_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    await using server = new SluiceProcess(data)
    const app = new AppClient(await server.mustBeReady())
    await using endpoint = await WebhookReceiver.start(app.consumerSecret)
    await app.addRule("cat")
    const webhookId = await app.link(endpoint.url)
    await app.ingest([postLine(1, "to begin with")])

    const bursts = Array.from({ length: senders }, (_, sender) => new Burst(app, 1_000_000 * (sender + 1)))
    const beforeBytes = residentBytes(server.pid)
    let mostBytes = beforeBytes
    {
      using lock = new DatabaseSync(join(data, "sluice.db"), { timeout: 5_000 })
      lock.exec("BEGIN IMMEDIATE")
      const until = performance.now() + standstillMsMax
      while (performance.now() < until && bursts.some((burst) => burst.refusals < refusalsMin)) {
        for (const burst of bursts) burst.write()
        await sleep(lookEveryMs)
        mostBytes = Math.max(mostBytes, residentBytes(server.pid))
      }
    }
    const sentBytes = sum(bursts.map((burst) => burst.sentBytes))
    const refusals = bursts.map((burst) => burst.refusals)
    const responses = await Promise.all(bursts.map((burst) => burst.end()))
    console.log(
      `overload: ${sum(responses)} posts acknowledged, held back after ${(sentBytes / 1e6).toFixed()} MB, ` +
        `${(beforeBytes / 1e6).toFixed()} MB, ${(mostBytes / 1e6).toFixed()} MB at most`,
    )

    // The fault happened: every sender had more to send than the server accepted.
    expect(Math.min(...refusals)).toBeGreaterThanOrEqual(refusalsMin)
    expect(mostBytes - beforeBytes).toBeLessThan(grownBytesMax)
    expect(responses).toEqual(bursts.map((burst) => burst.sent))

    // The server stores all of it and delivers the matches.
    const matching = sum(bursts.map((burst) => burst.matching))
    const { head, total } = await app.caughtUp(webhookId)
    expect({ head, delivered: total.delivered }).toEqual({ head: matching, delivered: matching })
    expect(endpoint.eventIds.size).toBe(matching)
    for (const burst of bursts) {
      const again = burst.sample(100)
      expect(await app.ingest(again)).toEqual({ accepted: 0, duplicates: again.length })
    }
  },
)

/** A sender that ignores back pressure, and keeps unsent bytes in memory. */
class Burst {
  readonly #socket: Socket
  readonly #firstId: number
  #response = ""
  #isFull = false
  sent = 0
  sentBytes = 0
  /** Refusals of the socket since it last accepted bytes. */
  refusals = 0

  constructor(app: AppClient, firstId: number) {
    this.#firstId = firstId
    this.#socket = connect(Number(new URL(app.url).port), "127.0.0.1")
    onTestFinished(() => void this.#socket.destroy())
    this.#socket.on("data", (bytes: Buffer) => (this.#response += bytes.toString()))
    this.#socket.on("drain", () => (this.#isFull = false))
    this.#socket.write(
      `POST /sluice/v1/posts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\n` +
        "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
    )
  }

  get matching(): number {
    return Math.ceil(this.sent / matchEvery)
  }

  /** Writes a chunk of posts; nothing while the last one is pending. */
  write(): void {
    if (this.#isFull) {
      this.refusals += 1
      return
    }
    this.refusals = 0
    const text = Array.from({ length: chunkPosts }, () => `${this.#post(this.sent++)}\n`).join("")
    this.sentBytes += text.length
    this.#isFull = !this.#socket.write(`${text.length.toString(16)}\r\n${text}\r\n`)
  }

  /** Ends the body; returns the number of acknowledged posts. */
  async end(): Promise<number> {
    const closed = new Promise((resolve) => this.#socket.once("close", resolve))
    this.#socket.write("0\r\n\r\n")
    await closed
    expect(this.#response).toMatch(/^HTTP\/1\.1 200 /)
    return Number(/"accepted":(\d+)/.exec(this.#response)?.[1])
  }

  /** Some of the sent posts, spread over all of them. */
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
