/**
 * Responses without end of other people's servers, each over a connection of its own under the guard of
 * `outbound-connections.ts`. The unread part of a body waits at the server: its stream stops the connection.
 *
 * A body that is compressed is decompressed as it is read, a few kilobytes at a time, however much it would become.
 */
import type { Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import { destinationFault, type OutboundPosture, type Resolve } from "./outbound-address.ts"
import { guardedConnector } from "./outbound-connections.ts"

/** A request for such a response. */
export interface StreamedRequest {
  readonly method: "GET" | "POST"
  readonly url: string
  /** May hold secrets. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly posture: OutboundPosture
  /** Stands in for DNS in tests. */
  readonly resolve?: Resolve | undefined
}

/** A response that has begun. Disposing of it ends its connection. */
export interface StreamedResponse extends AsyncDisposable {
  readonly status: number
  /** A header as it came, the first of several; undefined when it is absent. */
  header(name: string): string | undefined
  /** The body, decompressed. Ends early with an error when the connection does. */
  readonly body: Readable
}

/** A body is compressed in a way that is not asked for. */
export class UnknownEncoding extends Error {
  override readonly name = "UnknownEncoding"
}

/** Most bytes of a response's head. Ours. */
const headBytesMax = 16_384

/** Longest wait for a connection, and then for the head of the response. Ours. */
const connectMsMax = 10_000
const headMsMax = 60_000

/**
 * Sends a request and waits for the head of the response. Redirects are not followed. Throws `AddressRefused` and
 * `NameUnresolved` for addresses that may not be connected to, and other errors of the network as they are.
 */
export async function openStreamedResponse(request: StreamedRequest, signal: AbortSignal): Promise<StreamedResponse> {
  const url = new URL(request.url)
  const fault = destinationFault(url, request.posture)
  if (fault !== undefined) throw new Error(`The URL ${fault}.`)
  const { buildConnector, Client } = await import("undici")
  const client = new Client(url.origin, {
    connect: guardedConnector(request.posture, request.resolve, buildConnector, () => undefined),
    connectTimeout: connectMsMax,
    headersTimeout: headMsMax,
    // The reader watches over the silence of a body.
    bodyTimeout: 0,
    maxHeaderSize: headBytesMax,
    pipelining: 1,
    allowH2: false,
  })
  try {
    const { statusCode, headers, body } = await client.request({
      path: url.pathname + url.search,
      method: request.method,
      headers: { "user-agent": "Sluice", ...request.headers },
      body: request.body ?? null,
      signal,
    })
    const header = (name: string): string | undefined => {
      const value = headers[name]
      return Array.isArray(value) ? value[0] : value
    }
    return {
      status: statusCode,
      header,
      body: decompressed(body, header("content-encoding")),
      async [Symbol.asyncDispose]() {
        body.on("error", () => undefined).destroy()
        await client.destroy()
      },
    }
  } catch (error) {
    await client.destroy()
    throw error
  }
}

function decompressed(body: Readable, encoding = "identity"): Readable {
  if (encoding === "identity" || encoding === "") return body
  if (encoding !== "gzip" && encoding !== "x-gzip") {
    body.on("error", () => undefined).destroy()
    throw new UnknownEncoding(encoding)
  }
  const gunzip = createGunzip()
  // An early end of the body is an error of what is read from it.
  body.on("error", (error) => gunzip.destroy(error))
  gunzip.on("close", () => body.destroy())
  return body.pipe(gunzip)
}
