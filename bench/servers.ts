/** Servers to measure, each in a process of its own, so that the client does not share its core's time with them. */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

/** A server that answers on 127.0.0.1. */
export interface MeasuredServer extends AsyncDisposable {
  readonly port: number
}

/** Sluice, with the credentials of its development app. */
export interface MeasuredSluice extends MeasuredServer {
  readonly url: string
  readonly token: string
  readonly consumerSecret: string
}

/** `sluice dev` on a new data directory, which goes away with it. */
export async function startSluice(): Promise<MeasuredSluice> {
  const data = await mkdtemp(join(tmpdir(), "sluice-bench-"))
  const command = fileURLToPath(new URL("../packages/sluice/src/sluice.ts", import.meta.url))
  const server = await start([command, "dev", "--json", "--port", "0", "--data", data])
  const ready = JSON.parse(server.firstLine) as {
    url: string
    app: { bearer_token: string; consumer_secret: string }
  }
  return {
    url: ready.url,
    port: Number(new URL(ready.url).port),
    token: ready.app.bearer_token,
    consumerSecret: ready.app.consumer_secret,
    async [Symbol.asyncDispose]() {
      await server.stop()
      await rm(data, { recursive: true, force: true })
    },
  }
}

/** A bare server that answers every request with these bytes: as they are, or parsed once and stringified each time. */
export async function startBare(
  kind: "node-bytes" | "node-stringify" | "fastify",
  body: string,
): Promise<MeasuredServer> {
  const directory = await mkdtemp(join(tmpdir(), "sluice-bare-"))
  const file = join(directory, "body.json")
  await writeFile(file, body)
  const server = await start([fileURLToPath(new URL("bare-server.ts", import.meta.url)), kind, file])
  return {
    port: Number(server.firstLine),
    async [Symbol.asyncDispose]() {
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function start(args: readonly string[]): Promise<{ firstLine: string; stop(): Promise<void> }> {
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
  const exited = once(child, "exit")
  const { stdout } = child
  if (stdout === null) throw new Error("a child without output")
  const [firstLine] = (await Promise.race([
    once(createInterface({ input: stdout }), "line"),
    exited.then(([code]) => Promise.reject(new Error(`${args.join(" ")} ended with ${String(code)}`))),
  ])) as [string]
  return {
    firstLine,
    async stop() {
      child.kill("SIGTERM")
      await exited
    },
  }
}
