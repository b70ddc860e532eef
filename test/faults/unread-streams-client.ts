/**
 * `unread-streams-client.ts URL TOKEN COUNT`: opens stream connections and never reads them, until its standard input
 * ends.
 */
import { connect } from "node:net"

const [url = "", token = "", count = "0"] = process.argv.slice(2)

for (let opened = 0; opened < Number(count); opened += 1) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1")
  // The server is meant to cut it.
  socket.on("error", () => undefined)
  socket.pause()
  socket.write(`GET /2/tweets/search/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
}
process.stdin.on("end", () => process.exit()).resume()
