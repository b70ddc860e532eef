/**
 * One way to read a WebSocket: for every source that has one.
 *
 *     address checked ─► connected, by the guard of webhooks ─► messages wait here ─► taken one after the other
 *                                                                   │
 *                             more than 256 KiB wait: the socket is paused, and TCP makes the server wait
 *
 * Node's own WebSocket has no way to pause, so messages would wait in memory without bound. Messages are not compressed:
 * Sluice offers no extension, so none can grow beyond what came over the wire.
 *
 * A connection that has fallen silent is lost. Every 15 s a ping asks for a response, since a stream of few posts is
 * silent by nature; while the socket is paused nothing is read, and so nothing is missed.
 */
import type { Clock } from "../../runtime/clock.ts"
import { guardedConnectOptions } from "../../runtime/outbound/guarded-connect.ts"
import type { OutboundPosture, Resolve } from "../../runtime/outbound/outbound-address.ts"
import { AdvisedError } from "./positioned-source.ts"
import { checkDestination, connectionFailure, refusalBody, retryAfterOf, SourceRefused } from "./refusals.ts"
import { Watchdog } from "./watchdog.ts"
import type { ClientRequest, IncomingMessage } from "node:http"
import type { WebSocket } from "ws"

/** A message as it came, whose bytes the reader may keep. */
export interface WebSocketMessage {
  readonly bytes: Buffer
  /** Otherwise it is text, which may be no UTF-8. */
  readonly isBinary: boolean
  /** When it came, Unix ms. */
  readonly heardAtMs: number
}

/** The address, and bounds of the connection. */
export interface WebSocketOptions {
  /** Begins with `ws:` or `wss:`. */
  readonly url: string
  /** May hold secrets: they stand in no message. */
  readonly headers?: Readonly<Record<string, string>>
  /** Addresses that may be connected to. */
  readonly posture: OutboundPosture
  /** Stands in for DNS in tests. */
  readonly resolve?: Resolve
  readonly clock: Clock
  /** Longest time without anything from the other side, responses to pings included. */
  readonly silenceMsMax: number
  /** Longest time without a message, for streams that are never without one; absent: any time. */
  readonly messageSilenceMsMax?: number
  /** Longest time for which the socket may be paused, for servers that keep in memory what is not read; absent: any time. */
  readonly pausedMsMax?: number
  /** Time between pings; 15 s when absent. */
  readonly pingMs?: number
  /** A larger message ends the connection. 16 MiB when absent. */
  readonly messageBytesMax?: number
}

/** An open WebSocket: its messages, in order, each taken when the last one is done with. Disposing of it closes it. */
export interface ReadableWebSocket extends AsyncIterable<WebSocketMessage>, AsyncDisposable {
  /** Host and port. */
  readonly host: string
  /**
   * Time up to which every message that has come was taken, Unix ms. It stands still while nothing comes, no response to a
   * ping either.
   */
  readonly takenUntilMs: number
  /** Sends a text. Does nothing once the connection is lost. */
  send(text: string): void
}

/** The connection has ended: the iteration throws this after the last message. */
export class WebSocketClosed extends AdvisedError {
  /** As RFC 6455, 7.4 has them; 1006 when the connection was cut. */
  readonly code: number
  /** As the server has written it; may be empty. */
  readonly reason: string

  constructor(host: string, code: number, reason: string) {
    const said = reason === "" ? "" : ` It says: ${JSON.stringify(reason)}.`
    super(`${host} has ended the WebSocket with the code ${code}, ${meaningOf(code)}.${said}`, adviceOn(code))
    this.code = code
    this.reason = reason
  }
}

/** Most bytes of messages that wait. Ours: enough to be busy until more has come over the network. */
const waitingBytesMax = 262_144

/** Memory of a message that waits, beyond its bytes. Ours: an estimate. */
const messageOverheadBytes = 128

/** Largest message unless the options name another one. Ours. */
const defaultMessageBytesMax = 16 * 1024 * 1024

/** Longest time for the connection and the answer to its request. Ours. */
const openMsMax = 15_000

/** Time between pings. Ours: proxies commonly cut what is silent for 60 s. */
const defaultPingMs = 15_000

/** Longest wait for the server's part of a clean end. Ours. */
const closeMsMax = 1_000

/** Meanings of codes. Source: RFC 6455, 7.4.1; IANA, "WebSocket Close Code Number Registry". */
const meanings: Readonly<Record<number, string>> = {
  1000: "a normal end",
  1001: "since the server goes away",
  1002: "for an error in the protocol",
  1003: "for a kind of message that it does not accept",
  1005: "without giving a code",
  1006: "which means that the connection was cut",
  1007: "for a text that is not UTF-8",
  1008: "for breaking a rule of the server",
  1009: "for a message that is too large",
  1011: "for an error in the server",
  1012: "since the service restarts",
  1013: "since the service is overloaded",
}

function meaningOf(code: number): string {
  return meanings[code] ?? (code >= 4_000 ? "which is the server's own" : "which has no agreed meaning")
}

function adviceOn(code: number): string {
  if (code === 1003 || code === 1007 || code === 1008 || code >= 4_000) {
    return "Compare the address, the headers and the first message with the documentation of the source."
  }
  return "Sluice connects again by itself. If this goes on, ask the operator of the source."
}

/** Opens a WebSocket. Throws `SourceRefused` when the server answers otherwise, an `AdvisedError` for an address. */
export async function openWebSocket(options: WebSocketOptions, signal: AbortSignal): Promise<ReadableWebSocket> {
  const url = new URL(options.url)
  checkDestination(url, options.posture)
  const { WebSocket } = await import("ws")
  signal.throwIfAborted()
  const socket = new WebSocket(url, {
    ...guardedConnectOptions(url, options.posture, options.resolve),
    headers: { "user-agent": "Sluice", ...options.headers },
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: options.messageBytesMax ?? defaultMessageBytesMax,
    // Text that is not UTF-8 is a record that cannot be read. It is no reason to lose the connection.
    skipUTF8Validation: true,
  })
  const opened = new OpenedWebSocket(socket, url.host, options, signal)
  try {
    await opened.open()
    return opened
  } catch (error) {
    await opened[Symbol.asyncDispose]()
    throw error
  }
}

class OpenedWebSocket implements ReadableWebSocket {
  readonly host: string
  readonly #socket: WebSocket
  readonly #options: WebSocketOptions
  readonly #signal: AbortSignal
  readonly #opened = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  readonly #watchdogs: { readonly life: Watchdog; readonly messages: Watchdog | undefined }
  #waiting: WebSocketMessage[] = []
  #waitingBytes = 0
  /** When something came last, and when the message came that was taken last, Unix ms. */
  #heardAtMs: number
  #takenAtMs: number
  #wake = Promise.withResolvers<void>()
  #lost: Error | undefined
  #pings: NodeJS.Timeout | undefined
  #pausedTooLong: NodeJS.Timeout | undefined

  constructor(socket: WebSocket, host: string, options: WebSocketOptions, signal: AbortSignal) {
    this.host = host
    this.#socket = socket
    this.#options = options
    this.#signal = signal
    this.#heardAtMs = this.#takenAtMs = options.clock.nowMs()
    const watchdog = (ms: number, what: string): Watchdog =>
      new Watchdog(ms, () => this.#lose(new Error(`${host} has sent ${what} for ${ms / 1_000} s.`)), options.clock)
    const { silenceMsMax, messageSilenceMsMax } = options
    this.#watchdogs = {
      life: watchdog(silenceMsMax, "nothing"),
      messages: messageSilenceMsMax === undefined ? undefined : watchdog(messageSilenceMsMax, "no message"),
    }
    this.#listen()
  }

  get takenUntilMs(): number {
    return this.#waitingBytes === 0 ? this.#heardAtMs : this.#takenAtMs
  }

  /** Waits until it is open. */
  async open(): Promise<void> {
    const late = setTimeout(
      () => this.#lose(new Error(`${this.host} has not answered for ${openMsMax / 1_000} s.`)),
      openMsMax,
    )
    try {
      await this.#opened.promise
    } finally {
      clearTimeout(late)
    }
    this.#watch()
    this.#pings = setInterval(() => {
      if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
    }, this.#options.pingMs ?? defaultPingMs)
  }

  send(text: string): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(text)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WebSocketMessage, void, void> {
    while (!this.#signal.aborted) {
      const messages = this.#waiting
      if (messages.length === 0) {
        if (this.#lost !== undefined) throw this.#lost
        this.#resume()
        await this.#wake.promise
        continue
      }
      this.#waiting = []
      for (const message of messages) {
        if (this.#signal.aborted) return
        yield message
        this.#waitingBytes -= memoryOf(message)
        this.#takenAtMs = message.heardAtMs
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener("abort", this.#giveUp)
    this.#stopTimers()
    this.#waiting = []
    this.#wakeUp()
    if (this.#socket.readyState === this.#socket.OPEN) {
      this.#socket.resume()
      this.#socket.close(1000)
    }
    const late = setTimeout(
      () => this.#socket.terminate(),
      this.#socket.readyState === this.#socket.CLOSING ? closeMsMax : 0,
    )
    await this.#closed.promise
    clearTimeout(late)
  }

  #listen(): void {
    const { host } = this
    this.#signal.addEventListener("abort", this.#giveUp)
    this.#socket.on("open", () => this.#opened.resolve())
    this.#socket.on("message", (data, isBinary) => this.#take(data as Buffer, isBinary))
    this.#socket.on("ping", () => this.#hear())
    this.#socket.on("pong", () => this.#hear())
    this.#socket.on("unexpected-response", (request, response) => void this.#refuse(request, response))
    this.#socket.on("error", (error) => this.#lose(this.#failureOf(error)))
    this.#socket.on("close", (code, reason) => {
      this.#lose(new WebSocketClosed(host, code, reason.toString("utf8")))
      this.#closed.resolve()
    })
  }

  readonly #giveUp = (): void => this.#lose(new Error("The connection was given up."))

  #hear(): void {
    this.#heardAtMs = this.#options.clock.nowMs()
    this.#watchdogs.life.hear()
  }

  #take(bytes: Buffer, isBinary: boolean): void {
    this.#hear()
    this.#watchdogs.messages?.hear()
    const message = { bytes, isBinary, heardAtMs: this.#heardAtMs }
    this.#waiting.push(message)
    this.#waitingBytes += memoryOf(message)
    if (this.#waitingBytes > waitingBytesMax) this.#pause()
    this.#wakeUp()
  }

  #pause(): void {
    if (this.#socket.isPaused || this.#lost !== undefined) return
    this.#socket.pause()
    this.#stopWatching()
    const { pausedMsMax } = this.#options
    if (pausedMsMax === undefined) return
    this.#pausedTooLong = setTimeout(
      () => this.#lose(new Error(`Posts could not be taken for ${pausedMsMax / 1_000} s, so ${this.host} was left.`)),
      pausedMsMax,
    )
  }

  #resume(): void {
    if (!this.#socket.isPaused) return
    clearTimeout(this.#pausedTooLong)
    this.#watch()
    this.#socket.resume()
  }

  #watch(): void {
    if (this.#lost !== undefined) return
    this.#watchdogs.life.start()
    this.#watchdogs.messages?.start()
  }

  #stopWatching(): void {
    this.#watchdogs.life.stop()
    this.#watchdogs.messages?.stop()
  }

  #stopTimers(): void {
    this.#stopWatching()
    clearInterval(this.#pings)
    clearTimeout(this.#pausedTooLong)
  }

  /** The first reason counts. Messages that wait are still taken. */
  #lose(reason: Error): void {
    if (this.#lost === undefined) {
      this.#lost = reason
      this.#opened.promise.catch(() => undefined)
      this.#opened.reject(reason)
      this.#stopTimers()
      this.#socket.terminate()
    }
    this.#wakeUp()
  }

  #wakeUp(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  #failureOf(error: Error): Error {
    if ("code" in error && error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") {
      const bytesMax = this.#options.messageBytesMax ?? defaultMessageBytesMax
      return new AdvisedError(
        `${this.host} has sent a message of more than ${bytesMax} bytes.`,
        "Have the source send smaller messages, or rewind it to a position behind this one.",
      )
    }
    return connectionFailure(this.host, error)
  }

  async #refuse(request: ClientRequest, response: IncomingMessage): Promise<void> {
    const { host } = this
    const body = await refusalBody(response)
    const status = response.statusCode ?? 0
    const retryAfter = retryAfterOf(status, response.headers)
    this.#lose(new SourceRefused({ host, status, retryAfter, body }, this.#options.clock.nowMs()))
    request.destroy()
  }
}

function memoryOf({ bytes }: WebSocketMessage): number {
  return bytes.length + messageOverheadBytes
}
