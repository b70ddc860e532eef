import { MessageChannel } from "node:worker_threads"
import { expect, onTestFinished, test, vi } from "vitest"
import { keepErrorClasses } from "./error-codec.ts"
import { PortCalls, servePort } from "./port-calls.ts"

class Refused extends Error {
  override readonly name = "Refused"
}

keepErrorClasses(Refused)

interface Functions {
  add(a: number, b: number): number
  refuse(): Promise<never>
  uncloneable(): unknown
  never(): Promise<void>
  bytes(bytes: Uint8Array): number
  wait(signal: AbortSignal): Promise<void>
  /** Does not listen to the signal. */
  stuck(signal: AbortSignal): Promise<void>
}

/** A caller, and the ports between it and the functions that it calls. */
function connected(options: ConstructorParameters<typeof PortCalls>[2] = {}) {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const seen: (string | AbortSignal)[] = []
  servePort<Functions>(port2, {
    add: (a, b) => a + b,
    refuse: () => Promise.reject(new Refused("Not now.")),
    uncloneable: () => () => undefined,
    never: () => new Promise(() => undefined),
    bytes: ({ length }) => length,
    stuck: () => new Promise(() => undefined),
    wait(signal) {
      seen.push(signal)
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true })
      })
    },
  })
  return { calls: new PortCalls<Functions>(port1, {}, options), port: port1, other: port2, seen }
}

test("a call settles with what its function returns or throws, in any order", async () => {
  const { calls } = connected()
  const never = vi.fn<() => void>()
  void calls.call("never", []).then(never, never)
  expect(await Promise.all([calls.call("add", [1, 2]), calls.call("add", [3, 4])])).toEqual([3, 7])
  await expect(calls.call("refuse", [])).rejects.toBeInstanceOf(Refused)
  await expect(calls.call("uncloneable", [])).rejects.toThrow("could not be cloned")
  expect(never).not.toHaveBeenCalled()
})

test("when the port closes, pending calls and later ones reject with its reason", async () => {
  const closed = vi.fn<() => void>()
  const { calls, other } = connected({ closed, reason: async () => new Refused("It has ended.") })
  const pending = [calls.call("never", []), calls.call("never", [])]
  other.close()
  for (const call of pending) await expect(call).rejects.toBeInstanceOf(Refused)
  expect(closed).toHaveBeenCalledOnce()
  await expect(calls.call("add", [1, 2])).rejects.toThrow("It has ended.")
})

test("a call whose signal has aborted rejects with the signal's reason when the port closes, and after that", async () => {
  const { calls, other } = connected({ reason: () => new Refused("It has ended.") })
  const left = new AbortController()
  const [stuck, waiting] = [calls.call("stuck", [left.signal]), calls.call("stuck", [new AbortController().signal])]
  left.abort(new Error("The client has left."))
  other.close()
  await expect(stuck).rejects.toThrow("The client has left.")
  await expect(waiting).rejects.toThrow("It has ended.")
  await expect(calls.call("stuck", [left.signal])).rejects.toThrow("The client has left.")
})

test("buffers in the transfer list are handed over, and others are copied", async () => {
  const { calls } = connected()
  const [given, kept] = [new Uint8Array(8), new Uint8Array(8)]
  expect(await calls.call("bytes", [given], [given.buffer])).toBe(8)
  expect(await calls.call("bytes", [kept])).toBe(8)
  expect([given.length, kept.length]).toEqual([0, 8])
  calls.tell("bytes", [kept], [kept.buffer])
  expect(kept.length).toBe(0)
})

test("a signal that aborts ends the call at the other end, and then the promise rejects with its reason", async () => {
  const { calls, seen } = connected()
  const left = new AbortController()
  const call = calls.call("wait", [left.signal])
  await expect.poll(() => seen.length).toBe(1)
  left.abort(new Refused("The client has left."))
  await expect(call).rejects.toBe(left.signal.reason)
})

test("nothing is called under a signal that has aborted", async () => {
  const { calls, seen } = connected()
  await expect(calls.call("wait", [AbortSignal.abort("before")])).rejects.toBe("before")
  expect(await calls.call("add", [1, 2])).toBe(3)
  expect(seen).toEqual([])
})

test("calls whose caller has gone are aborted", async () => {
  const { calls, port, seen } = connected()
  calls.call("wait", [new AbortController().signal]).catch(() => undefined)
  await expect.poll(() => seen.length).toBe(1)
  port.close()
  await expect.poll(() => (seen[0] as AbortSignal).aborted).toBe(true)
})

test("messages that wait for no result are delivered in their order", async () => {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const seen: number[] = []
  servePort(port2, { note: (number: number) => void seen.push(number) })
  const calls = new PortCalls<{ note(number: number): void }>(port1)
  for (const number of [1, 2, 3]) calls.tell("note", [number])
  await expect.poll(() => seen).toEqual([1, 2, 3])
})
