/** Which threads of a server run behind the others. Linux tells the priority of each thread. */
import { readdirSync, readFileSync } from "node:fs"
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { startTestServer } from "./support/test-server.testing.ts"

/** The niceness of each thread of this process with this name. Source: proc_pid_stat(5). */
function nicenessOf(thread: string): readonly number[] {
  return readdirSync("/proc/self/task").flatMap((id) => {
    const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/self/task/${id}/stat`, "utf8")) ?? []
    // The kernel keeps fifteen characters of a name. The first of the other fields is the third of the file.
    return name === thread.slice(0, 15) ? [Number(rest?.split(" ")[19 - 3])] : []
  })
}

test.runIf(process.platform === "linux")("threads for which no post waits run behind the others", async () => {
  await using server = await startTestServer({ search: "on" })
  const posts = [{ data: { id: "1", text: "a heron" } }]
  expect(await server.send("POST", paths.ruleTest, { value: "heron", posts })).toMatchObject({ status: 200 })
  expect(await server.call(paths.openapi)).toMatchObject({ status: 200 })
  for (const thread of ["search-thread", "rule-test-thread"]) expect(nicenessOf(thread)).toContain(5)
  for (const thread of ["intake-thread", "writer-thread"]) {
    expect(nicenessOf(thread)).toContain(0)
    expect(nicenessOf(thread)).not.toContain(5)
  }
})
