/** Reads whole bodies into memory, each within a size and a time, and all of them within a budget. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Problem } from "../../model/problem.ts"
import type { BodyBudget, HeldBody } from "./body-budget.ts"
import type { Callers } from "../callers.ts"
import { plainProblem } from "../problems.ts"

/** Reads the bodies of a server. */
export class BodyReader {
  readonly #budget: BodyBudget
  readonly #callers: Pick<Callers, "of">
  readonly #msMax: number
  /** Bodies that have arrived, until something holds them. */
  readonly #arrived = new WeakMap<IncomingMessage, HeldBody>()

  /** A client has `msMax` to send a body. */
  constructor(deps: { readonly budget: BodyBudget; readonly callers: Pick<Callers, "of">; readonly msMax: number }) {
    this.#budget = deps.budget
    this.#callers = deps.callers
    this.#msMax = deps.msMax
  }

  /**
   * The bytes of a whole body, which count as held until `holdUntilSent` ends. Throws `tooLarge()` (default: 413) beyond
   * `bytesMax`, 408 when the body takes too long, 503 when bodies take too much memory, and 400 when the client disconnects.
   */
  async read(
    request: IncomingMessage,
    limits: { readonly bytesMax: number; readonly tooLarge?: () => Problem },
  ): Promise<Buffer> {
    const { bytesMax, tooLarge = () => plainProblem(413, `The body is larger than ${bytesMax} bytes.`) } = limits
    if (Number(request.headers["content-length"] ?? 0) > bytesMax) throw tooLarge()
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    const held = this.#budget.open(this.#callers.of(request), () => reject(tooManyBodies()))
    const body = new GrowingBytes()
    const timer = setTimeout(() => {
      reject(plainProblem(408, `The body did not arrive within ${this.#msMax / 1000} s.`))
    }, this.#msMax)
    const onData = (chunk: Buffer): void => {
      if (body.length + chunk.length > bytesMax) {
        reject(tooLarge())
        return
      }
      body.append(chunk)
      held.resize(body.capacity)
    }
    const onEnd = (): void => resolve(body.bytes)
    const onError = (): void => reject(plainProblem(400, "The body ended before it was complete."))
    request.on("data", onData).once("end", onEnd).once("error", onError)
    try {
      const bytes = await promise
      held.complete()
      this.#arrived.set(request, held)
      return bytes
    } catch (error) {
      held.release()
      // The listener that stays keeps this function's variables, and so does the request.
      body.free()
      throw error
    } finally {
      clearTimeout(timer)
      // The error listener stays: a client that disconnects later must not crash the process.
      request.off("data", onData).off("end", onEnd)
      // Further bytes are discarded until the connection closes.
      request.resume()
    }
  }

  /** Holds the body of a request, if one was read, until its response is sent or cut. */
  holdUntilSent(request: IncomingMessage, response: ServerResponse): void {
    const held = this.#arrived.get(request)
    if (held === undefined) return
    this.#arrived.delete(request)
    if (response.destroyed) held.release()
    else response.once("close", () => held.release())
  }
}

function tooManyBodies(): Problem {
  return plainProblem(503, "The bodies of requests take too much memory. Send the request again in a moment.")
}

/**
 * Bytes that are appended to one buffer: many small ones would take hundreds of bytes of memory each. The memory of a buffer
 * that is not needed any more is freed at once: left to the collector, it would pile up while a thousand bodies grow.
 */
class GrowingBytes {
  #buffer: Buffer = Buffer.alloc(0)
  /** True if nothing else uses the memory of the buffer. */
  #isOwn = false
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Bytes of memory. */
  get capacity(): number {
    return this.#buffer.length
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Frees the memory; there are no bytes afterwards. */
  free(): void {
    if (this.#isOwn && this.#buffer.buffer instanceof ArrayBuffer) this.#buffer.buffer.transfer(0)
    this.#buffer = Buffer.alloc(0)
    this.#isOwn = false
    this.#length = 0
  }

  append(chunk: Buffer): void {
    const before = this.#length
    const length = before + chunk.length
    if (before === 0) {
      // Most bodies are one chunk, which has its memory for itself.
      this.#buffer = chunk
    } else {
      if (length > this.#buffer.length) {
        const grown = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#buffer.length))
        this.#buffer.copy(grown, 0, 0, before)
        this.free()
        this.#buffer = grown
        this.#isOwn = true
      }
      chunk.copy(this.#buffer, before)
    }
    this.#length = length
  }
}
