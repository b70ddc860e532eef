import { expect, test, vi } from "vitest"
import { PortCalls } from "./port-calls.ts"
import { loadThread, startThread } from "./thread.ts"
import { lastMessages, TaskRefused, threadFile, type TaskFunctions, type ThreadTask } from "./thread-task.testing.ts"

function start(task: ThreadTask) {
  return startThread(threadFile, task)
}

test("a thread is called through its port, and its last messages arrive although it has ended", async () => {
  const thread = await start({ kind: "echo" })
  const closed = vi.fn<() => void>()
  const port = new PortCalls<TaskFunctions>(thread.port, { closed })
  expect(await port.call("echo", ["hello"])).toBe("hello")
  await thread.close()
  await expect.poll(() => closed).toHaveBeenCalledTimes(lastMessages)
})

test("a thread that cannot begin rejects with the reason, with the class of the error", async () => {
  const refused = await start({ kind: "refuse" }).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(TaskRefused)
  expect(refused).toMatchObject({ message: "It is too late.", code: "TOO_LATE" })
})

test("a thread that fails as it begins rejects with its error", async () => {
  await expect(start({ kind: "fail" })).rejects.toThrow("It fails.")
})

test("a thread that fails later reports its failure to a listener, also to a late one", async () => {
  const thread = await start({ kind: "fail-later" })
  await expect(thread.failed).rejects.toThrow("It fails later.")
  await expect(thread.failed).rejects.toThrow("It fails later.")
})

test("a thread that ends by itself has failed", async () => {
  await expect(start({ kind: "end" })).rejects.toThrow("The thread has ended.")
  const thread = await start({ kind: "end-later" })
  await expect(thread.failed).rejects.toThrow("The thread has ended.")
})

test("a thread that was closed has not failed", async () => {
  const thread = await start({ kind: "echo" })
  const failed = vi.fn<() => void>()
  thread.failed.catch(failed)
  await thread.close()
  expect(failed).not.toHaveBeenCalled()
})

test("a thread that needs more heap than it may have fails by itself", async () => {
  const thread = await startThread(threadFile, { kind: "fill" } satisfies ThreadTask, [], { heapMbMax: 16 })
  await expect(thread.failed).rejects.toMatchObject({ code: "ERR_WORKER_OUT_OF_MEMORY" })
})

test("a thread loads before it has its data, and calls before that wait", async () => {
  const loading = loadThread(threadFile)
  const closed = vi.fn<() => void>()
  const port = new PortCalls<TaskFunctions>(loading.port, { closed })
  const early = port.call("echo", ["hello"])
  await loading.start({ kind: "echo" } satisfies ThreadTask)
  expect(await early).toBe("hello")
  await loading[Symbol.asyncDispose]()
  await expect.poll(() => closed).toHaveBeenCalledTimes(lastMessages)
})

test("a thread that fails rejects its calls with the reason", async () => {
  const thread = await start({ kind: "fail-later" })
  const port = new PortCalls<{ nothing(): Promise<never> }>(thread.port, {}, { reason: () => thread.ended })
  const pending = Promise.all([1, 2].map(async () => port.call("nothing", []).catch(String)))
  expect(await thread.ended).toMatchObject({ message: "It fails later." })
  await pending
  await expect(port.call("nothing", [])).rejects.toThrow("It fails later.")
})

test("a thread that was never started ends when it is disposed of", async () => {
  await expect(loadThread(threadFile)[Symbol.asyncDispose]()).resolves.toBe(undefined)
})
