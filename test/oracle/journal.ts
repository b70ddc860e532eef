/**
 * What the oracle has seen, a JSON line each, on disk before anybody is answered: so that an oracle that is ended
 * and started again goes on with the same memory.
 *
 * `Ledger` is the journal read from its beginning; everything that the verdict says comes from it.
 */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs"
import { join } from "node:path"

/** The six members of a webhook link, as `GET /2/tweets/search/webhooks` lists it. */
export type ListedLink = Readonly<Record<string, unknown>>

/** How the receiver answered a delivery. `dropped`: the connection was ended without an answer. */
export type ReceiverAnswer = 200 | 500 | "dropped"

/** One thing that happened. */
export type JournalEntry =
  /** Where the receiver listens, for as long as the journal lives. */
  | { readonly kind: "receiver"; readonly port: number }
  /** The server is ready: a life of it begins. `app` is what its ready line says of the app. */
  | { readonly kind: "life"; readonly url: string; readonly app: string }
  | { readonly kind: "linked"; readonly links: readonly ListedLink[] }
  /** A body was answered 200. `again`: it had been acknowledged before. */
  | {
      readonly kind: "acknowledged"
      readonly body: number
      readonly ids: readonly string[]
      readonly again: boolean
    }
  /** A body was sent and no answer came. */
  | { readonly kind: "body-cut"; readonly body: number }
  | {
      readonly kind: "received"
      /** Number of the link, from 0. */
      readonly link: number
      readonly eventId: string
      readonly postId: string
      /** SHA-256 of the body. */
      readonly hash: string
      readonly answer: ReceiverAnswer
    }
  /** The server went away while a delivery was being answered. */
  | { readonly kind: "delivery-cut" }
  /** Something that must never happen, in words. */
  | { readonly kind: "fault"; readonly text: string }

/** What one life of the server has done. */
export interface LifeFigures {
  /** Posts acknowledged for the first time. */
  acknowledged: number
  /** Bodies that were sent and not answered. */
  bodiesCut: number
  /** Deliveries that came, repeats included. */
  received: number
  /** Deliveries whose answer did not get out. */
  deliveriesCut: number
  /** Deliveries that had been answered 200 when they came before. */
  repeats: number
}

/** What came of an event at a link. */
interface ReceivedEvent {
  readonly postId: string
  readonly hash: string
  /** How often it came and was answered 200. */
  taken: number
  /** It was answered 200 when it came last; so it must not come again, but for an end of the server. */
  isSettled: boolean
}

/** What came in at a link. */
export interface ReceivedOfLink {
  readonly events: Map<string, ReceivedEvent>
  /** Event that each post came as. */
  readonly eventOfPost: Map<string, string>
  /** Deliveries of events that were taken when they came before. A repeat that is refused is due again. */
  repeats: number
  /** Deliveries that were refused or dropped on purpose. */
  refused: number
}

/** The sum of a journal. */
export class Ledger {
  receiverPort: number | undefined
  app: string | undefined
  links: readonly ListedLink[] | undefined
  readonly lives: LifeFigures[] = []
  readonly acknowledgedBodies = new Set<number>()
  readonly acknowledgedIds = new Set<string>()
  readonly received: ReceivedOfLink[] = []
  readonly faults: string[] = []

  apply(entry: JournalEntry): void {
    const life = this.lives.at(-1)
    switch (entry.kind) {
      case "receiver":
        this.receiverPort = entry.port
        return
      case "life":
        if (this.app !== undefined && this.app !== entry.app) this.faults.push("the app's credentials have changed")
        this.app = entry.app
        this.lives.push({ acknowledged: 0, bodiesCut: 0, received: 0, deliveriesCut: 0, repeats: 0 })
        return
      case "linked":
        this.links = entry.links
        return
      case "acknowledged":
        if (life !== undefined && !entry.again) life.acknowledged += entry.ids.length
        this.acknowledgedBodies.add(entry.body)
        for (const id of entry.ids) this.acknowledgedIds.add(id)
        return
      case "body-cut":
        if (life !== undefined) life.bodiesCut += 1
        return
      case "received":
        this.#receive(entry, life)
        return
      case "delivery-cut":
        if (life !== undefined) life.deliveriesCut += 1
        return
      case "fault":
        this.faults.push(entry.text)
    }
  }

  #receive(entry: JournalEntry & { kind: "received" }, life: LifeFigures | undefined): void {
    const { eventId, postId, hash } = entry
    const link = (this.received[entry.link] ??= {
      events: new Map(),
      eventOfPost: new Map(),
      repeats: 0,
      refused: 0,
    })
    const event = link.events.get(eventId) ?? { postId, hash, taken: 0, isSettled: false }
    const earlierEvent = link.eventOfPost.get(postId) ?? eventId
    link.events.set(eventId, event)
    link.eventOfPost.set(postId, earlierEvent)

    const at = `link ${entry.link}, event ${eventId}`
    if (event.postId !== postId) this.faults.push(`${at}: came with post ${event.postId}, then with ${postId}`)
    else if (event.hash !== hash) this.faults.push(`${at}: came again with other bytes`)
    if (earlierEvent !== eventId) this.faults.push(`${at}: post ${postId} came as event ${earlierEvent} before`)

    if (life !== undefined) life.received += 1
    if (event.isSettled) {
      link.repeats += 1
      if (life !== undefined) life.repeats += 1
    }
    event.isSettled = entry.answer === 200
    if (event.isSettled) event.taken += 1
    else link.refused += 1
  }
}

/** A journal that is being written, and its sum. */
export class Journal implements Disposable {
  readonly ledger = new Ledger()
  readonly #file: number

  /** Goes on with the journal of this directory, or begins one. */
  constructor(directory: string) {
    mkdirSync(directory, { recursive: true })
    const path = join(directory, "journal.ndjson")
    // A line that was cut off by the oracle's end was not acted upon: nobody had been answered.
    const text = existsSync(path) ? readFileSync(path, "utf8") : ""
    const whole = text.slice(0, text.lastIndexOf("\n") + 1)
    for (const line of whole.split("\n")) {
      if (line !== "") this.ledger.apply(JSON.parse(line) as JournalEntry)
    }
    if (whole !== text) truncateSync(path, Buffer.byteLength(whole))
    this.#file = openSync(path, "a")
  }

  append(entry: JournalEntry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`)
    this.ledger.apply(entry)
  }

  [Symbol.dispose](): void {
    closeSync(this.#file)
  }
}
