/**
 * The oracle's record, a JSON line per event, on disk before the oracle responds to any request: an oracle that ends
 * and restarts continues with the same memory.
 *
 * `Ledger` is the journal read from its beginning; the whole verdict comes from it.
 */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs"
import { join } from "node:path"

/** The six members of a webhook link, as `GET /2/tweets/search/webhooks` lists it. */
export type ListedLink = Readonly<Record<string, unknown>>

/** The receiver's response to a delivery. `dropped`: it ended the connection without a response. */
export type ReceiverAnswer = 200 | 500 | "dropped"

/** One event. */
export type JournalEntry =
  /** Port of the receiver, for the whole life of the journal. */
  | { readonly kind: "receiver"; readonly port: number }
  /** The server is ready: a life of it begins. `app` is the app of its ready line. */
  | { readonly kind: "life"; readonly url: string; readonly app: string }
  | { readonly kind: "linked"; readonly links: readonly ListedLink[] }
  /** A body got a 200. `again`: it had been acknowledged before. */
  | {
      readonly kind: "acknowledged"
      readonly body: number
      readonly ids: readonly string[]
      readonly again: boolean
    }
  /** A body was sent and got no response. */
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
  /** The server closed the connection during the response to a delivery. */
  | { readonly kind: "delivery-cut" }
  /** An event that must never happen, in words. */
  | { readonly kind: "fault"; readonly text: string }

/** Counts of one life of the server. */
export interface LifeFigures {
  /** Posts acknowledged for the first time. */
  acknowledged: number
  /** Bodies sent without a response. */
  bodiesCut: number
  /** Deliveries that came, repeats included. */
  received: number
  /** Deliveries whose response was not sent. */
  deliveriesCut: number
  /** Deliveries that got a 200 when they came before. */
  repeats: number
}

/** The history of an event at a link. */
interface ReceivedEvent {
  readonly postId: string
  readonly hash: string
  /** How often it came and got a 200. */
  taken: number
  /** It got a 200 when it last came; so it must not come again, except after an end of the server. */
  isSettled: boolean
}

/** The history of a link. */
export interface ReceivedOfLink {
  readonly events: Map<string, ReceivedEvent>
  /** The event of each post. */
  readonly eventOfPost: Map<string, string>
  /** Deliveries of events that the receiver had accepted before. A repeat that is refused is due again. */
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

/** An open journal, and its sum. */
export class Journal implements Disposable {
  readonly ledger = new Ledger()
  readonly #file: number

  /** Continues the journal of this directory, or begins one. */
  constructor(directory: string) {
    mkdirSync(directory, { recursive: true })
    const path = join(directory, "journal.ndjson")
    // The end of the oracle may have cut off a line; no response depended on that line.
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
