import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { expect, test } from "vitest"
import { listening } from "../../../test/support/listening.testing.ts"

test.each(["break", "throw new Error()", "stop.abort()"])(
  "a process that leaves the stream by `%s` ends by itself, with its connection closed",
  async (leave) => {
    const closed = Promise.withResolvers<void>()
    await using server = await listening((request, response) => {
      response.write('{"data":{"id":"1"}}\r\n')
      request.once("close", closed.resolve)
    })
    const program = `
      import { createClient } from ${JSON.stringify(new URL("index.ts", import.meta.url).href)}
      const stop = new AbortController()
      try {
        for await (const { body } of createClient({ url: ${JSON.stringify(server.url)} }).stream({ signal: stop.signal })) {
          console.log(body.data.id)
          ${leave}
        }
      } catch {}
      const open = () => process.getActiveResourcesInfo().filter((name) => /TCP|Timeout/.test(name)).join()
      // A socket closes in steps. What stays open is found after a while.
      for (let turns = 0; open() !== "" && turns < 100_000; turns++) await new Promise(setImmediate)
      console.log(open())`
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "exit")])
    await closed.promise
    expect({ printed, code }).toEqual({ printed: "1\n\n", code: 0 })
  },
)
