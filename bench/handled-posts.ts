/** The times when posts were due, accepted and handled, by the one clock of the process that feeds and receives. */

/** The posts of one round. */
export class HandledPosts {
  /** Expected deliveries of each post. */
  readonly #deliveriesPerPost: number
  readonly #numberOf = new Map<string, number>()
  readonly #dueMs: number[] = []
  readonly #acceptedMs: number[] = []
  /** For each delivery, the number of its post and its time. */
  readonly #handled: { readonly number: number; readonly atMs: number }[] = []
  readonly #done = Promise.withResolvers<void>()
  #isWaiting = false

  constructor(deliveriesPerPost: number) {
    this.#deliveriesPerPost = deliveriesPerPost
  }

  /** Notes the posts of this NDJSON, which are sent now and were due at `dueMs`. */
  noteDue(lines: string, dueMs: number): void {
    for (const [, id] of lines.matchAll(/^\{"data":\{"id":"(\d+)"/gm)) {
      this.#numberOf.set(id as string, this.#dueMs.length)
      this.#dueMs.push(dueMs)
    }
  }

  /** Notes that this many of the posts are durable by now. */
  noteAccepted(count: number): void {
    const nowMs = performance.now()
    while (this.#acceptedMs.length < count) this.#acceptedMs.push(nowMs)
  }

  /** Notes a delivery that has arrived whole. Ignores posts of another round. */
  noteHandled(body: Buffer): void {
    this.noteHandledId((JSON.parse(body.toString("utf8")) as { data: { id: string } }).data.id)
  }

  /** Notes that the post of this id has arrived. Ignores posts of another round. */
  noteHandledId(id: string): void {
    const number = this.#numberOf.get(id)
    if (number === undefined) return
    this.#handled.push({ number, atMs: performance.now() })
    this.#perhapsDone()
  }

  /** Resolves when all posts sent until now are handled. */
  get all(): Promise<void> {
    this.#isWaiting = true
    this.#perhapsDone()
    return this.#done.promise
  }

  /** For each delivery, the time since its post was due. */
  sinceDueMs(): readonly number[] {
    return this.#handled.map(({ number, atMs }) => atMs - (this.#dueMs[number] ?? Number.NaN))
  }

  /** For each delivery, the time since its post was known to be accepted; 0 when it was handled before that. */
  sinceAcceptedMs(): readonly number[] {
    return this.#handled.map(({ number, atMs }) => Math.max(0, atMs - (this.#acceptedMs[number] ?? Number.NaN)))
  }

  #perhapsDone(): void {
    const wanted = this.#dueMs.length * this.#deliveriesPerPost
    if (this.#isWaiting && this.#handled.length >= wanted) this.#done.resolve()
  }
}
