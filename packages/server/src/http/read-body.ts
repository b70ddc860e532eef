/** Bodies that are read whole, within a size and a time. */
import type { IncomingMessage } from "node:http"
import type { Problem } from "../model/problem.ts"
import { plainProblem } from "./render-problem.ts"

/** The bytes of a body. Throws 413 beyond `bytesMax`, 408 after `msMax`, 400 when the client breaks off. */
export async function readBody(
  request: IncomingMessage,
  limits: { bytesMax: number; msMax: number },
): Promise<Buffer> {
  const { bytesMax, msMax } = limits
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) throw tooLarge(bytesMax)
  const chunks: Buffer[] = []
  let bytes = 0
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const timer = setTimeout(() => reject(tooSlow(msMax)), msMax)
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes > bytesMax) reject(tooLarge(bytesMax))
    else chunks.push(chunk)
  }
  const onEnd = (): void => resolve(Buffer.concat(chunks, bytes))
  const onError = (): void => reject(plainProblem(400, "The body ended before it was complete."))
  request.on("data", onData).once("end", onEnd).once("error", onError)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    // The listener for errors stays: a client that breaks off later is no error of the process.
    request.off("data", onData).off("end", onEnd)
    // What still comes is thrown away until the connection closes.
    request.resume()
  }
}

function tooLarge(bytesMax: number): Problem {
  return plainProblem(413, `The body is larger than ${bytesMax} bytes.`)
}

function tooSlow(msMax: number): Problem {
  return plainProblem(408, `The body did not arrive within ${msMax / 1000} s.`)
}
