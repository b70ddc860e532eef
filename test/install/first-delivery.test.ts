/** `sluice listen` and `sluice trigger`, from an empty directory to the first delivery. */
import { once } from "node:events"
import { mkdtemp, readdir } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { expect, inject, test } from "vitest"
import { nodeOf, runUnder, startUnder } from "./nodes.testing.ts"

/**
 * The promise is ten seconds from the start of the first command. On a machine that does other work, too, the commands are
 * compared with the start of one that does nothing, in the same minute. The number of starts is ours.
 */
const firstDeliveryMsMax = 10_000
const startsMax = 16

test.each([24, 26])(
  "on Node %i the first delivery is printed within 10 s of the first command, or in the time of 16 starts",
  async (major) => {
    const node = await nodeOf(major)
    // Empty, and below the directory in which the packages are: that is where npx finds them.
    const empty = await mkdtemp(join(inject("installed"), "empty-"))
    expect(await readdir(empty)).toEqual([])
    const beganAtMs = performance.now()
    await runUnder(node, empty, "npx", "sluice", "--version")
    const startMs = performance.now() - beganAtMs
    const startedAtMs = performance.now()
    await using listening = startUnder(node, empty, "npx", "sluice", "listen")
    const notes: string[] = []
    createInterface(listening.child.stderr).on("line", (line) => notes.push(line))
    const delivery = once(createInterface(listening.child.stdout), "line") as Promise<[string]>
    await expect.poll(() => notes.join("\n")).toContain("sluice trigger")
    expect(notes[0]).toContain("Started a development server")
    expect(await runUnder(node, empty, "npx", "sluice", "trigger")).toMatchObject({ status: 0 })
    const [line] = await delivery
    const msMax = Math.max(firstDeliveryMsMax, startsMax * startMs)
    expect(performance.now() - startedAtMs).toBeLessThanOrEqual(msMax)
    expect(line).toMatch(/^\d\d:\d\d:\d\d {2}200 .* sluice$/)
  },
)
