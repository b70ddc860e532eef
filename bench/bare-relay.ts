/**
 * `bare-relay.ts URL`: posts each line of a body to the URL on arrival and stores nothing. Prints its port. It
 * acknowledges each line on arrival, so that a feeder of the server can feed it.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Pool } from "undici"

const pool = new Pool(process.argv[2] ?? "", { connections: 32, pipelining: 1 })

const server = createServer((request, response) => {
  let rest = ""
  request.setEncoding("utf8")
  request.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    for (const body of lines) {
      pool.dispatch(
        { path: "/", method: "POST", headers: { "content-type": "application/json" }, body },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData() {},
          onResponseEnd() {},
          onResponseError(_controller, error) {
            throw error
          },
        },
      )
    }
    response.write(`{"accepted":${lines.length}}\n`)
  })
  request.on("end", () => response.end())
})
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
