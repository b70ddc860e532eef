/**
 * Calls between threads, through a message port: each end has functions that the other end calls by name.
 *
 *     one thread                                          another thread
 *     port.call("states", [ids])  ── { id, name, args } ──► functions.states(ids)
 *     its promise                 ◄── { id, result | error } ── what that returns or throws
 *     port.tell("read", [bytes])  ── { name, args } ──────► functions.read(bytes)
 *     a signal aborts             ── { id, isAborted } ───► the signal of that call aborts
 *
 * One call is one message, and one result another. Buffers in the transfer list are handed over without a copy. Errors keep
 * their class (`error-codec.ts`). A port that closes, as every port of a thread that ends does, rejects all pending calls.
 */
import type { MessagePort, Transferable } from "node:worker_threads"
import { keepErrorClasses, receivedError, sentError, type SentError } from "./error-codec.ts"

/** Functions of one end of a port, by name. */
export type PortFunctions<Functions> = { readonly [Name in keyof Functions]: (...args: never[]) => unknown }

type FunctionName<Functions> = keyof Functions & string

type Result<Function> = Function extends (...args: never[]) => infer Returned ? Awaited<Returned> : never

type Arguments<Function> = Function extends (...args: infer Args) => unknown ? Args : never

type AnyFunction = (...args: readonly unknown[]) => unknown

/** A message through a port. `tell` sends one without an id. */
type Message =
  | { readonly id?: number; readonly name: string; readonly args: readonly unknown[]; readonly isAbortable?: true }
  | { readonly id: number; readonly isAborted: true }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: SentError }

/** The caller has aborted the call. */
class CallAborted extends Error {
  override readonly name = "CallAborted"
}

keepErrorClasses(CallAborted)

interface Pending {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  readonly abort: Abort | undefined
}

/** The signal of a call, and what it does there. */
interface Abort {
  readonly signal: AbortSignal
  readonly listener: () => void
}

interface PortOptions {
  /** Called once, when the port has closed. */
  readonly closed?: () => void
  /** Why pending and later calls reject once the port has closed. */
  readonly reason?: () => Error | Promise<Error>
}

/** Lets the other end of a port call these functions; this end calls none. */
export function servePort<Functions extends PortFunctions<Functions>>(port: MessagePort, functions: Functions): void {
  void new PortCalls(port, functions)
}

/** One end of a port, whose other end has the functions `Theirs`. */
export class PortCalls<Theirs extends PortFunctions<Theirs>> {
  readonly #port: MessagePort
  readonly #functions: Readonly<Record<string, AnyFunction>>
  /** Calls of this end, by id. */
  readonly #pending = new Map<number, Pending>()
  /** Calls of the other end that it may abort, by id. */
  readonly #abortable = new Map<number, AbortController>()
  #lastId = 0
  /** Why no call is made any more. */
  #end: Error | Promise<Error> | undefined

  /** The other end may call `functions`. */
  constructor(
    port: MessagePort,
    functions: object = {},
    { closed, reason = () => new Error("The other thread has ended.") }: PortOptions = {},
  ) {
    this.#port = port
    this.#functions = functions as Readonly<Record<string, AnyFunction>>
    port.on("message", (message: Message) => this.#receive(message))
    port.on("close", () => {
      this.#end = reason()
      for (const [id, pending] of this.#pending) {
        this.#forget(id, pending)
        void this.#refuse(pending.reject, pending.abort?.signal)
      }
      for (const controller of this.#abortable.values()) controller.abort(new CallAborted())
      closed?.()
    })
  }

  /**
   * Calls a function of the other end. Rejects with what it throws, or when the port closes. A signal as the last argument
   * crosses too; once it has aborted the call there, or the port has closed after that, the promise rejects with its reason.
   * Nothing is called under a signal that has aborted before.
   */
  call<Called extends FunctionName<Theirs>>(
    name: Called,
    args: Arguments<Theirs[Called]>,
    transfer: readonly Transferable[] = [],
  ): Promise<Result<Theirs[Called]>> {
    return new Promise((resolve, reject) => {
      const last: unknown = args.at(-1)
      const isAbortable = last instanceof AbortSignal
      if (this.#end !== undefined || (isAbortable && last.aborted)) {
        return void this.#refuse(reject, isAbortable ? last : undefined)
      }
      this.#lastId += 1
      const id = this.#lastId
      if (isAbortable) this.#post({ id, name, args: args.slice(0, -1), isAbortable }, transfer)
      else this.#post({ id, name, args }, transfer)
      const abort = isAbortable ? this.#abortWith(last, id) : undefined
      this.#pending.set(id, { resolve: resolve as (result: unknown) => void, reject, abort })
    })
  }

  /** Calls a function of the other end and does not wait for it. Does nothing once the port has closed. */
  tell<Called extends FunctionName<Theirs>>(
    name: Called,
    args: Arguments<Theirs[Called]>,
    transfer: readonly Transferable[] = [],
  ): void {
    this.#post({ name, args }, transfer)
  }

  #post(message: Message, transfer: readonly Transferable[] = []): void {
    this.#port.postMessage(message, transfer as Transferable[])
  }

  /** A call that its caller has given up did not fail. */
  async #refuse(reject: (error: unknown) => void, signal?: AbortSignal): Promise<void> {
    reject(signal?.aborted === true ? signal.reason : await this.#end)
  }

  #abortWith(signal: AbortSignal, id: number): Abort {
    const listener = (): void => this.#post({ id, isAborted: true })
    signal.addEventListener("abort", listener, { once: true })
    return { signal, listener }
  }

  #receive(message: Message): void {
    if ("name" in message) {
      const { id, name, args, isAbortable } = message
      if (id === undefined) this.#functions[name]?.(...args)
      else void this.#serve(id, name, isAbortable === undefined ? args : [...args, this.#signalOf(id)])
    } else if ("isAborted" in message) this.#abortable.get(message.id)?.abort(new CallAborted())
    else this.#settle(message)
  }

  #settle(message: Extract<Message, { result: unknown } | { error: SentError }>): void {
    const pending = this.#pending.get(message.id)
    if (pending === undefined) return
    this.#forget(message.id, pending)
    if ("result" in message) {
      pending.resolve(message.result)
      return
    }
    const error = receivedError(message.error)
    pending.reject(error instanceof CallAborted ? pending.abort?.signal.reason : error)
  }

  #forget(id: number, { abort }: Pending): void {
    this.#pending.delete(id)
    abort?.signal.removeEventListener("abort", abort.listener)
  }

  #signalOf(id: number): AbortSignal {
    const controller = new AbortController()
    this.#abortable.set(id, controller)
    return controller.signal
  }

  async #serve(id: number, name: string, args: readonly unknown[]): Promise<void> {
    try {
      this.#post({ id, result: await this.#functions[name]?.(...args) })
    } catch (error) {
      // Also of a result that cannot be cloned.
      this.#post({ id, error: sentError(error) })
    } finally {
      this.#abortable.delete(id)
    }
  }
}
