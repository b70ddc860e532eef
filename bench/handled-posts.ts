/** When posts were due, accepted and handled, by the one clock of the process that feeds and receives. */

/** The posts of one round. */
export class HandledPosts {
  /** Deliveries that each post is to have. */
  readonly #deliveriesPerPost: number
  readonly #numberOf = new Map<string, number>()
  readonly #dueMs: number[] = []
  readonly #acceptedMs: number[] = []
  /** By delivery: which post, and when. */
  readonly #handled: { readonly number: number; readonly atMs: number }[] = []
  readonly #done = Promise.withResolvers<void>()
  #isWaiting = false

  constructor(deliveriesPerPost: number) {
    this.#deliveriesPerPost = deliveriesPerPost
  }

  /** Posts that are sent now and were due at that moment, as NDJSON. */
  noteDue(lines: string, dueMs: number): void {
    for (const [, id] of lines.matchAll(/^\{"data":\{"id":"(\d+)"/gm)) {
      this.#numberOf.set(id as string, this.#dueMs.length)
      this.#dueMs.push(dueMs)
    }
  }

  /** So many of the posts are durable by now. */
  noteAccepted(count: number): void {
    const nowMs = performance.now()
    while (this.#acceptedMs.length < count) this.#acceptedMs.push(nowMs)
  }

  /** A delivery has arrived, whole. What is not of this round is passed over. */
  noteHandled(body: Buffer): void {
    const { id } = (JSON.parse(body.toString("utf8")) as { data: { id: string } }).data
    const number = this.#numberOf.get(id)
    if (number === undefined) return
    this.#handled.push({ number, atMs: performance.now() })
    this.#perhapsDone()
  }

  /** Resolves when all posts that were sent until now are handled. */
  get all(): Promise<void> {
    this.#isWaiting = true
    this.#perhapsDone()
    return this.#done.promise
  }

  /** For each delivery, from when its post was due. */
  sinceDueMs(): readonly number[] {
    return this.#handled.map(({ number, atMs }) => atMs - (this.#dueMs[number] ?? Number.NaN))
  }

  /** For each delivery, from when its post was known to be accepted; 0 when it was handled before that. */
  sinceAcceptedMs(): readonly number[] {
    return this.#handled.map(({ number, atMs }) => Math.max(0, atMs - (this.#acceptedMs[number] ?? Number.NaN)))
  }

  #perhapsDone(): void {
    const wanted = this.#dueMs.length * this.#deliveriesPerPost
    if (this.#isWaiting && this.#handled.length >= wanted) this.#done.resolve()
  }
}
