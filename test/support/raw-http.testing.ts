/** HTTP byte by byte, for requests that no client sends. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"

/** A response as it came over the wire. */
export interface RawResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
}

/** A socket to the server at `url`. */
export async function connectTo(url: string): Promise<Socket> {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, "connect")
  return socket
}

/** Sends bytes over a socket; returns all responses until the server closed it. */
export async function rawResponses(
  url: string,
  bytes: string | Buffer,
  { msMax = 5_000 }: { msMax?: number } = {},
): Promise<readonly RawResponse[]> {
  const socket = await connectTo(url)
  const received = everything(socket, msMax)
  socket.write(bytes)
  return responsesIn(await received)
}

/** All bytes that a socket receives until the server closes it. Rejects when it is still open after `msMax`. */
export function everything(socket: Socket, msMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on("data", (chunk: Buffer) => chunks.push(chunk))
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`The server kept the connection open for ${msMax} ms.`))
      socket.destroy()
    }, msMax)
    const done = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(Buffer.concat(chunks))
    }
    socket.once("close", done).on("error", done)
  })
}

/** Responses one after the other, each with a content length or chunked. */
export function responsesIn(bytes: Buffer): readonly RawResponse[] {
  const responses: RawResponse[] = []
  let rest = bytes
  for (;;) {
    const headEnd = rest.indexOf("\r\n\r\n")
    if (headEnd < 0) return responses
    const [statusLine = "", ...lines] = rest.subarray(0, headEnd).toString("latin1").split("\r\n")
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)]),
    )
    const status = Number(statusLine.split(" ")[1])
    const bodyAt = headEnd + 4
    const length = status < 200 ? 0 : Number(headers.get("content-length") ?? rest.length - bodyAt)
    responses.push({ status, headers, text: rest.subarray(bodyAt, bodyAt + length).toString("utf8") })
    rest = rest.subarray(bodyAt + length)
  }
}
