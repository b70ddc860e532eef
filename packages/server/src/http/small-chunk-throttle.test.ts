import { once } from "node:events"
import { createServer } from "node:http"
import { connect, type AddressInfo } from "node:net"
import { expect, onTestFinished, test } from "vitest"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { SmallChunkThrottle } from "./small-chunk-throttle.ts"

/** A byte each, more than is read at once. */
const smallChunks = Buffer.from("1\r\nx\r\n".repeat(40_000))

/** Most chunks of a byte that Node reads at once, with a part of one at either end. */
const readAtOnceMax = 65_536 / 6 + 2

/** A server that reads bodies under a clock of the test, and records how many bytes of each it has read. */
async function serverWith(
  body: Buffer,
  bodies: number,
): Promise<{
  readonly clock: ReturnType<typeof createManualClock>
  readonly read: readonly number[]
  readonly ended: readonly number[]
}> {
  const clock = createManualClock()
  const throttle = new SmallChunkThrottle(clock)
  const read: number[] = []
  const ended: number[] = []
  const server = createServer((request, response) => {
    throttle.track(request)
    const number = read.push(0) - 1
    request.on("data", (chunk: Buffer) => (read[number] = (read[number] ?? 0) + chunk.length))
    request.on("end", () => {
      ended.push(number)
      response.end()
    })
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  for (let number = 0; number < bodies; number++) {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
    socket.on("error", () => undefined)
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    socket.write(body)
    socket.write("0\r\n\r\n")
  }
  return { clock, read, ended }
}

test("of bodies in chunks of one byte one at a time is resumed, with an interval between them", async () => {
  const { clock, read, ended } = await serverWith(smallChunks, 4)
  // Each is read once, and paused.
  await expect.poll(() => read.filter((bytes) => bytes > 1_000)).toHaveLength(4)
  await clock.advance(0)
  let readBefore = [...read]
  for (let turn = 0; turn < 6; turn++) {
    await clock.advance(50)
    await expect.poll(() => read).not.toEqual(readBefore)
    await clock.advance(0)
    const readNow = read.map((bytes, number) => bytes - (readBefore[number] ?? 0)).filter((bytes) => bytes > 0)
    expect(readNow).toHaveLength(1)
    expect(Math.max(...readNow)).toBeLessThanOrEqual(readAtOnceMax)
    readBefore = [...read]
  }
  // Every body is read to its end.
  await expect
    .poll(async () => {
      await clock.advance(50)
      return new Set(ended)
    })
    .toEqual(new Set([0, 1, 2, 3]))
  expect(read).toEqual([40_000, 40_000, 40_000, 40_000])
})

test("bodies in chunks of ordinary size are not paused", async () => {
  const chunk = `400\r\n${"x".repeat(1_024)}\r\n`
  const { clock, ended } = await serverWith(Buffer.from(chunk.repeat(5_000)), 2)
  await expect.poll(() => new Set(ended)).toEqual(new Set([0, 1]))
  expect(clock.sleepers).toBe(0)
})
