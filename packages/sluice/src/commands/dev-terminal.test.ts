import { readFile } from "node:fs/promises"
import { expect, test } from "vitest"
import { isInstalled } from "../../../../test/docs/example-program.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../command.testing.ts"
import { ctrlC, inTerminal } from "../pseudo-terminal.testing.ts"

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
