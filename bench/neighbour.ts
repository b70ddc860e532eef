/**
 * A well-behaved app next to one that is not: a few requests, posts and deliveries a second, each timed from the moment
 * when it was due, so that the delay before sending counts as well.
 */
import { once } from "node:events"
import { Agent, request as httpRequest } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "../packages/api/src/paths.ts"
import { addRules, linkWebhooks, type MeasuredApp } from "./app-client.ts"
import { startEndpoints } from "./endpoints.ts"
import { atConstantRate } from "./constant-rate.ts"

/** Times that the app measured, in milliseconds; infinite for a failure. */
export interface Experience {
  readonly healthMs: readonly number[]
  readonly requestsMs: readonly number[]
  readonly ingestMs: readonly number[]
  readonly deliveriesMs: readonly number[]
  /** Times of a bare server that got requests at the same moments. */
  readonly controlMs: readonly number[]
  /** Times of the same server until the same posts were on the disk. */
  readonly durableControlMs: readonly number[]
}

/** Requests, posts and deliveries a second, each. */
const perSecond = 20

/** How long after the last request to wait for responses and deliveries. */
const patienceMs = 20_000

const word = "neighbourly"

/** The running app. */
export class Neighbour implements AsyncDisposable {
  readonly #app: MeasuredApp
  readonly #controlUrl: string
  readonly #agent = new Agent({ keepAlive: true })
  readonly #endpoints: Awaited<ReturnType<typeof startEndpoints>>
  readonly #dueMs = new Map<string, number>()
  #deliveriesMs: number[] = []
  #next = 3_000_000_000_000_000_000n

  private constructor(app: MeasuredApp, endpoints: Awaited<ReturnType<typeof startEndpoints>>, controlUrl: string) {
    this.#app = app
    this.#controlUrl = controlUrl
    this.#endpoints = endpoints
  }

  /** Creates the app's rule and linked webhook. `controlUrl` is the URL of a bare durable server. */
  static async moveIn(app: MeasuredApp, consumerSecret: string, controlUrl: string): Promise<Neighbour> {
    let arrived: (body: Buffer) => void = () => undefined
    const endpoints = await startEndpoints(1, consumerSecret, (_, body) => arrived(body))
    const neighbour = new Neighbour(app, endpoints, controlUrl)
    arrived = (body) => neighbour.#arrived(body)
    await addRules(app, [word])
    await linkWebhooks(app, endpoints.urls)
    return neighbour
  }

  /** Runs for this long, and returns the times. */
  async live(seconds: number): Promise<Experience> {
    const healthMs: number[] = []
    const requestsMs: number[] = []
    const ingestMs: number[] = []
    const controlMs: number[] = []
    const durableControlMs: number[] = []
    const underWay: Promise<void>[] = []
    this.#deliveriesMs = []
    const impatient = new AbortController()
    const tooLate = once(impatient.signal, "abort").then(() => Promise.reject(new Error("too late")))
    tooLate.catch(() => undefined)
    const timed = async (times: number[], dueMs: number, request: Promise<void>): Promise<void> => {
      await Promise.race([request, tooLate]).then(
        () => times.push(performance.now() - dueMs),
        () => times.push(Number.POSITIVE_INFINITY),
      )
    }
    await atConstantRate(perSecond, seconds, (count, dueMs) => {
      for (let at = 0; at < count; at++) {
        underWay.push(
          timed(healthMs, dueMs, this.#request("GET", paths.healthz)),
          timed(requestsMs, dueMs, this.#request("GET", paths.rules)),
          timed(ingestMs, dueMs, this.#post(dueMs)),
          timed(controlMs, dueMs, this.#send(this.#controlUrl, "GET", paths.home)),
          timed(durableControlMs, dueMs, this.#send(this.#controlUrl, "POST", paths.home, JSON.stringify({ dueMs }))),
        )
      }
    })
    const timer = setTimeout(() => impatient.abort(), patienceMs)
    await Promise.all(underWay)
    while (this.#dueMs.size > 0 && !impatient.signal.aborted) await sleep(5)
    clearTimeout(timer)
    const lost = Array.from(this.#dueMs, () => Number.POSITIVE_INFINITY)
    this.#dueMs.clear()
    const deliveriesMs = [...this.#deliveriesMs, ...lost]
    return { healthMs, requestsMs, ingestMs, deliveriesMs, controlMs, durableControlMs }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    await this.#endpoints[Symbol.asyncDispose]()
  }

  async #post(dueMs: number): Promise<void> {
    const id = String(this.#next++)
    this.#dueMs.set(id, dueMs)
    await this.#request("POST", paths.posts, JSON.stringify({ data: { id, text: `a ${word} post` } }))
  }

  #arrived(body: Buffer): void {
    const { id } = (JSON.parse(body.toString("utf8")) as { data: { id: string } }).data
    const dueMs = this.#dueMs.get(id)
    if (dueMs === undefined || !this.#dueMs.delete(id)) return
    this.#deliveriesMs.push(performance.now() - dueMs)
  }

  #request(method: string, path: string, body?: string): Promise<void> {
    return this.#send(this.#app.url, method, path, body)
  }

  #send(url: string, method: string, path: string, body?: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const headers = {
      authorization: `Bearer ${this.#app.token}`,
      ...(body !== undefined && { "content-type": "application/x-ndjson" }),
    }
    const request = httpRequest(url + path, { method, headers, agent: this.#agent })
    request.on("error", reject)
    request.on("response", (response) => {
      response.on("error", reject)
      response.on("end", () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`${method} ${path}: ${String(response.statusCode)}`))
      })
      response.resume()
    })
    request.end(body)
    return promise
  }
}
