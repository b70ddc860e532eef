/** A thousand stream connections that never read, on a server with a small heap. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { preloadMissing, smallSendBufferEnv, stallingClientEnv } from "./preloaded-faults.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const connections = 1_000

/** Heap of the main thread; the process has other memory as well. */
const heapMegabytes = 192

/** Twenty megabytes for each of them: unread, they would be twenty gigabytes. */
const posts = 2_000
const text = `a cat ${"x".repeat(10_000)}`

/** Allowed growth of the process's memory while no client reads, since all connected. */
const grownBytesMax = 400_000_000

/** A small buffer makes a socket stall sooner, and a thousand large ones would be gigabytes of the system's memory. */
test.skipIf(preloadMissing !== undefined)(
  `the server cuts ${connections} stream connections that never read as slow readers, and its memory does not grow`,
  { timeout: 180_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    await using server = new SluiceProcess(data, {
      env: {
        SLUICE_STREAM_CONNECTIONS_PER_APP_MAX: String(connections),
        SLUICE_STREAM_STALLED_SECONDS_MAX: "3",
        ...smallSendBufferEnv(),
      },
      nodeOptions: [`--max-old-space-size=${heapMegabytes}`],
    })
    const app = new AppClient(await server.mustBeReady())
    await app.addRule("cat")
    const program = fileURLToPath(new URL("unread-streams-client.ts", import.meta.url))
    const clients = spawn(process.execPath, [program, app.url, app.token, String(connections)], {
      env: { ...process.env, ...stallingClientEnv() },
      stdio: ["pipe", "inherit", "inherit"],
    })
    onTestFinished(async () => {
      clients.kill("SIGKILL")
      await once(clients, "exit")
    })
    const metric = async (name: string): Promise<number> => metricOf(app, name)
    await waitFor(
      () => metric("sluice_stream_connections"),
      (open) => open === connections,
    )

    const idleBytes = residentBytes(server.pid)
    let mostBytes = idleBytes
    for (let first = 1; first <= posts; first += 200) {
      await app.ingest(Array.from({ length: 200 }, (_, index) => postLine(first + index, text)))
      mostBytes = Math.max(mostBytes, residentBytes(server.pid))
    }
    await waitFor(
      async () => {
        mostBytes = Math.max(mostBytes, residentBytes(server.pid))
        return metric('sluice_stream_connections_closed_total{reason="slow-reader"}')
      },
      (cut) => cut === connections,
      30_000,
    )
    console.log(`unread streams: ${(idleBytes / 1e6).toFixed()} MB, ${(mostBytes / 1e6).toFixed()} MB at most`)
    expect(mostBytes - idleBytes).toBeLessThan(grownBytesMax)
    expect(await metric("sluice_stream_connections")).toBe(0)

    // The server still serves a client that reads.
    expect(await app.ingest([postLine(posts + 1, "a cat")])).toEqual({ accepted: 1, duplicates: 0 })
    server.end("SIGTERM")
    expect((await server.ended()).code).toBe(0)
  },
)

/** Value of a metric, its labels included in the name; 0 without one. */
async function metricOf(app: AppClient, name: string): Promise<number> {
  const { text: metrics } = await app.send("GET", "/metrics")
  const line = metrics.split("\n").find((each) => each.startsWith(`${name} `))
  return line === undefined ? 0 : Number(line.slice(name.length))
}

/** Source: proc(5), `VmRSS`, in units of 1,024 bytes. */
function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1_024
}
