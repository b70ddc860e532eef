import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

/** A bench that has started a server, prints the server's process id, and waits. */
const program = `
const { startBare } = await import(${JSON.stringify(new URL("servers.ts", import.meta.url).href)})
const server = await startBare("node-bytes", "{}")
console.log(server.pid)
setInterval(() => undefined, 1000)
`

test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "a bench that %s ends takes its servers with it",
  async (signal) => {
    const bench = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: fileURLToPath(new URL("..", import.meta.url)),
      stdio: ["ignore", "pipe", "inherit"],
    })
    const ended = once(bench, "exit")
    const [line] = (await once(createInterface(bench.stdout), "line")) as [string]
    const server = Number(line)
    expect(isRunning(server)).toBe(true)
    bench.kill(signal)
    expect(await ended).toEqual([{ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[signal], null])
    await expect.poll(() => isRunning(server)).toBe(false)
  },
)

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
