import { spawn, type SpawnOptionsWithStdioTuple, type StdioNull, type StdioPipe } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

/** A bench that has started a server, prints the server's process id, and waits. */
const program = `
const { startBare } = await import(${JSON.stringify(new URL("servers.ts", import.meta.url).href)})
const server = await startBare("node-bytes", "{}")
console.log(server.pid)
setInterval(() => undefined, 1000)
`

const options: SpawnOptionsWithStdioTuple<StdioNull, StdioPipe, StdioNull> = {
  cwd: fileURLToPath(new URL("..", import.meta.url)),
  stdio: ["ignore", "pipe", "inherit"],
}

test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "a bench that %s ends takes its servers with it",
  async (signal) => {
    const bench = spawn(process.execPath, ["--input-type=module", "--eval", program], options)
    const ended = once(bench, "exit")
    const server = await printedId(bench.stdout)
    expect(isRunning(server)).toBe(true)
    bench.kill(signal)
    expect(await ended).toEqual([{ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[signal], null])
    await expect.poll(() => isRunning(server)).toBe(false)
  },
)

test.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const)(
  "a bench takes its servers with it when %s ends only npm",
  async (signal) => {
    // The shell stands for npm: it waits for the bench, and passes no signal on.
    const env = { ...process.env, npm_lifecycle_event: "bench", PROGRAM: program }
    const script = `"${process.execPath}" --input-type=module --eval "$PROGRAM" & wait`
    const npm = spawn("sh", ["-c", script], { ...options, env })
    const server = await printedId(npm.stdout)
    expect(isRunning(server)).toBe(true)
    npm.kill(signal)
    await expect.poll(() => isRunning(server)).toBe(false)
  },
)

/** The first line that a process prints, a process id. */
async function printedId(output: Readable): Promise<number> {
  const [line] = (await once(createInterface(output), "line")) as [string]
  return Number(line)
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
