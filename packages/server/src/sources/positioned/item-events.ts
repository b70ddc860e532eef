/**
 * Splits a body into the items of its server-sent events: `data` is the item, `id` the position after it, which stays for
 * the events without one.
 *
 * Source: WHATWG HTML, "Server-sent events".
 */
import type { EventSourceMessage, ParseError } from "eventsource-parser"
import { itemBytesKept, tooLong, type SourceItem } from "../mapping/source-item.ts"
import { Endless, endlessBytes } from "./item-lines.ts"

/** Reads the events of one body. */
export class ItemEvents {
  readonly #bytesMax: number
  readonly #parser: { feed(text: string): void; reset(): void }
  readonly #decoder = new TextDecoder("utf-8")
  #items: SourceItem[] = []
  #cursor: string | undefined
  #retryMs = 0
  /** The beginning of the event whose end has not come. */
  #beginning = ""
  #isOver = false
  /** Length of an event that is passed over; 0 for none. */
  #passed = 0
  #tail = ""

  private constructor(
    bytesMax: number,
    cursor: string | undefined,
    createParser: typeof import("eventsource-parser").createParser,
  ) {
    this.#bytesMax = bytesMax
    this.#cursor = cursor
    this.#parser = createParser({
      maxBufferSize: bytesMax,
      onEvent: (event) => this.#take(event),
      onId: (id) => this.#moveTo(id),
      onRetry: (ms) => void (this.#retryMs = ms),
      onError: ({ type }: ParseError) => void (this.#isOver ||= type === "max-buffer-size-exceeded"),
    })
  }

  /** A reader of a body that begins behind `cursor`. `bytesMax` is the most UTF-16 units of an event. */
  static async open(bytesMax: number, cursor: string | undefined): Promise<ItemEvents> {
    const { createParser } = await import("eventsource-parser")
    return new ItemEvents(bytesMax, cursor, createParser)
  }

  /** Time for which the server asks not to be connected to again; 0 when it does not ask. */
  get retryMs(): number {
    return this.#retryMs
  }

  /** The items of the events that end in a chunk. Throws `Endless`. */
  read(chunk: Buffer): readonly SourceItem[] {
    let text = this.#decoder.decode(chunk, { stream: true })
    if (this.#passed > 0) text = this.#pass(text)
    while (text !== "") text = this.#feed(text)
    const items = this.#items
    this.#items = []
    return items
  }

  /** Feeds the parser with a text up to the end of its first event. Returns the rest. */
  #feed(text: string): string {
    const end = eventEnd.exec(text)
    const part = end === null ? text : text.slice(0, end.index + end[0].length)
    this.#parser.feed(part)
    if (this.#isOver) this.#fail(this.#beginning + part, end !== null)
    else if (end !== null) this.#beginning = ""
    else if (this.#beginning.length < itemBytesKept) this.#beginning += part.slice(0, itemBytesKept)
    return text.slice(part.length)
  }

  #take({ data, event }: EventSourceMessage): void {
    this.#items.push({ bytes: Buffer.from(data), cursor: this.#cursor, event })
  }

  /** Called for each event with an id, before the event itself. An empty id is none. */
  #moveTo(id: string): void {
    this.#cursor = id === "" ? undefined : id
  }

  /** The event has become too large: its rest is passed over, unless its end is there. */
  #fail(text: string, hasEnded: boolean): void {
    this.#isOver = false
    this.#parser.reset()
    const bytes = Buffer.from(text.slice(0, itemBytesKept)).subarray(0, itemBytesKept)
    this.#items.push({ bytes, cursor: this.#cursor, fault: tooLong(text.length, this.#bytesMax) })
    this.#beginning = ""
    this.#passed = hasEnded ? 0 : text.length
    this.#tail = text.slice(-tailLength)
  }

  /** The text behind the event that is passed over; empty when its end has not come. */
  #pass(text: string): string {
    const searched = this.#tail + text
    const end = eventEnd.exec(searched)
    if (end === null) {
      this.#passed += text.length
      if (this.#passed > endlessBytes) throw new Endless()
      this.#tail = searched.slice(-tailLength)
      return ""
    }
    this.#passed = 0
    return searched.slice(end.index + end[0].length)
  }
}

/** A blank line ends an event. */
const eventEnd = /\r\n(?:\r\n|\n|\r)|\n(?:\r\n|\n|\r)|\r(?:\r\n|\r)/

/** Characters of an end that may be in the chunk before. */
const tailLength = 3
