/** A webhook endpoint that a test controls: it keeps each genuine delivery, and responds as the test sets. */
import { nodeHandler, receiver as receiverOf } from "@sluice/client/receiver"
import { listening } from "./listening.testing.ts"

/** A delivery that arrived with X's signature. */
export interface Received {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The `webhook-id`. */
  readonly eventId: string
}

/** A receiver. Refuses a delivery without the right signature. */
export class WebhookReceiver implements AsyncDisposable {
  /** The consumer secret of the app that it receives for. */
  secret: string
  /** True if it passes challenges. */
  passesChallenges = true
  /** Status of the response to a delivery; `undefined` leaves it without a response. */
  statusOf: (delivery: Received) => number | undefined = () => 200
  /** Whether its responses to deliveries hold what it received. */
  echoes = false
  readonly received: Received[] = []
  /** Challenges so far. */
  challenges = 0
  /** Reasons of refused requests. */
  readonly refusals: string[] = []
  #endpoint: Awaited<ReturnType<typeof listening>> | undefined
  #changed = Promise.withResolvers<void>()
  #open: Promise<void> = Promise.resolve()
  #release = (): void => undefined

  private constructor(secret: string) {
    this.secret = secret
  }

  /** Starts one for an app of this consumer secret. */
  static async start(secret: string): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(secret)
    const receive = receiverOf({
      get consumerSecret() {
        return receiver.passesChallenges ? receiver.secret : "another secret"
      },
      // The test must see deliveries that arrive more than once.
      repeats: false,
      onDelivery({ headers, text: body }) {
        const eventId = headers.get("webhook-id") ?? ""
        return receiver.#receive({ headers: Object.fromEntries(headers), body, eventId })
      },
      onChallenge: () => void (receiver.challenges += 1),
      onRefusal: (reason) => void receiver.refusals.push(reason),
    })
    const respond = async (request: Request): Promise<Response> => {
      if (!receiver.echoes || request.method !== "POST") return receive(request)
      const text = await request.clone().text()
      return new Response(text, { status: (await receive(request)).status })
    }
    receiver.#endpoint = await listening(nodeHandler(respond))
    return receiver
  }

  get url(): string {
    return `${this.#endpoint?.url ?? ""}/webhook`
  }

  /** Ids of the events that arrived, each once. */
  get eventIds(): ReadonlySet<string> {
    return new Set(this.received.map(({ eventId }) => eventId))
  }

  /** Ids of the posts that arrived, once per arrival. */
  get postIds(): readonly string[] {
    return this.received.map(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id)
  }

  /** Leaves deliveries without a response until `release`. */
  hold(): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#open = promise
    this.#release = resolve
  }

  /** Responds to the held deliveries, and to later ones. */
  release(): void {
    this.#release()
  }

  /** Resolves when this many deliveries have arrived, repeats included. */
  async arrived(count: number): Promise<void> {
    while (this.received.length < count) await this.#changed.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#release()
    await this.#endpoint?.[Symbol.asyncDispose]()
  }

  async #receive(delivery: Received): Promise<number> {
    this.received.push(delivery)
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
    await this.#open
    return this.statusOf(delivery) ?? new Promise<never>(() => undefined)
  }
}
