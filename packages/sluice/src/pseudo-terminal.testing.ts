/** The command in a pseudo-terminal, for tests of what it shows and reads there. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const bin = fileURLToPath(new URL("../bin/sluice.js", import.meta.url))

/** The key Ctrl-C. */
export const ctrlC = "\u0003"

/**
 * A terminal around a command: everything that it shows, and the keys that it is sent. `script` runs its command in the
 * caller's shell, and a shell that stays between (dash) makes status 130 of every Ctrl-C: one known shell is replaced.
 */
export function inTerminal(args: readonly string[], cwd: string, variables: Readonly<Record<string, string>> = {}) {
  const command = ["exec", process.execPath, bin, ...args].join(" ")
  const env = { ...process.env, ...variables, SHELL: "/bin/sh" }
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
