/** The server over HTTP, by its contract alone. */

/** An answer whose body came whole. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Longest that any answer may take. Past it the server hangs, which is a fault. */
const answerMsMax = 20_000

/** The server took longer to answer than it ever may. */
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

  /** The answer. Throws `Hanging`; and whatever `fetch` throws when the server goes away. */
  async send(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: { type: string; text: string },
  ): Promise<Answer> {
    const signal = AbortSignal.timeout(answerMsMax)
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
      if (signal.aborted) throw new Hanging(`${method} ${path}: no answer within ${answerMsMax} ms`, { cause: error })
      throw error
    }
  }

  /** The JSON of an answer that must be a success. */
  async json(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown>> {
    const sent = body === undefined ? undefined : { type: "application/json", text: JSON.stringify(body) }
    const { status, text } = await this.send(method, path, sent)
    if (status < 200 || status > 299) throw new Error(`${method} ${path} was answered ${status}: ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }
}
