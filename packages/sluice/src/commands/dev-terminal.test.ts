import { spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { isInstalled } from "../../../../test/docs/example-program.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../command.testing.ts"

const bin = fileURLToPath(new URL("../../bin/sluice.js", import.meta.url))

/**
 * A terminal around a command: everything that it shows, and the keys that it is sent. `script` runs its command in the
 * caller's shell, and a shell that stays between (dash) makes status 130 of every Ctrl-C: one known shell is replaced.
 */
function inTerminal(args: readonly string[], cwd: string) {
  const command = ["exec", process.execPath, bin, ...args].join(" ")
  const env = { ...process.env, SHELL: "/bin/sh" }
  const child = spawn("script", ["-qec", command, "/dev/null"], { cwd, env, stdio: ["pipe", "pipe", "inherit"] })
  let shown = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (shown += text))
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  return {
    shown: () => shown,
    type: (keys: string) => child.stdin.write(keys),
    ended,
    /** Ends `script`, which ends its command: a command that stayed would hold the test's process open. */
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended
    },
  }
}

const ctrlC = "\u0003"

test.runIf(isInstalled("script", "bsdutils"))(
  "on a terminal the log is text, and tail and Ctrl-C say what happens",
  async () => {
    await using directory = await temporaryDirectory()
    const cwd = directory.path
    await using dev = inTerminal(["dev", "--port", "0"], cwd)
    await expect.poll(dev.shown).toContain("Ctrl-C stops the server.")
    await run(["rules", "add", "heron"], { cwd })
    await using tail = inTerminal(["tail"], cwd)
    await expect.poll(tail.shown).toContain("Waiting for matches at http://127.0.0.1:")
    await expect.poll(dev.shown).toMatch(/\d\d:\d\d:\d\d\S* .*info.*stream connection opened/)
    await run(["webhooks", "add", "http://127.0.0.1:9/"], { cwd })
    await expect.poll(dev.shown).toMatch(/challenge finished.*outcome=unreachable/)
    expect(dev.shown()).not.toContain('{"level"')
    tail.type(ctrlC)
    expect(await tail.ended).toBe(0)
    dev.type(ctrlC)
    await expect.poll(dev.shown).toContain("Stopping: what is in flight ends first.")
    expect(await dev.ended).toBe(0)
    expect(await readFile(`${cwd}/.sluice/credentials.json`, "utf8")).toContain("bearer_token")
  },
)
