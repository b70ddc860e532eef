/** The server over HTTP, through the public API alone. */

/** A response with its whole body. */
export interface SluiceResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Longest time for any response. A server that takes longer hangs, which is a fault. */
const responseMsMax = 20_000

/** The server exceeded the longest time for a response. */
export class Hanging extends Error {
  override readonly name = "Hanging"
}

/** One life of the server, as a client of its app sees it. */
export class SluiceClient {
  readonly #url: string
  readonly #token: string

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  /** Returns the response. Throws `Hanging`, and the error of `fetch` when the server ends. */
  async send(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: { type: string; text: string },
  ): Promise<SluiceResponse> {
    const signal = AbortSignal.timeout(responseMsMax)
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(body !== undefined && { "content-type": body.type }),
        },
        signal,
        ...(body !== undefined && { body: body.text }),
      })
      const { status, headers } = response
      return { status, headers, text: await response.text() }
    } catch (error) {
      if (signal.aborted)
        throw new Hanging(`${method} ${path}: no response within ${responseMsMax} ms`, { cause: error })
      throw error
    }
  }

  /** The JSON of a successful response; throws for any other. */
  async json(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown>> {
    const sent = body === undefined ? undefined : { type: "application/json", text: JSON.stringify(body) }
    const { status, text } = await this.send(method, path, sent)
    if (status < 200 || status > 299) throw new Error(`${method} ${path} returned ${status}: ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }
}
