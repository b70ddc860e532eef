import { expect, test, vi } from "vitest"
import { loadThread, startThread, ThreadRefused } from "./thread.ts"
import { threadFile, type ThreadTask } from "./thread-task.testing.ts"

function start(task: ThreadTask) {
  return startThread(threadFile, task)
}

test("a thread is given what it waits for, and ends when it is closed", async () => {
  const { port1, port2 } = new MessageChannel()
  const thread = await start({ kind: "echo" })
  const heard: unknown[] = []
  port1.addEventListener("message", ({ data }) => heard.push(data))
  thread.post({ port: port2, text: "hello" }, [port2])
  await expect.poll(() => heard).toEqual(["hello"])
  await thread.close()
  await expect.poll(() => heard).toEqual(["hello", "closed"])
  port1.close()
})

test("a thread that cannot begin says why", async () => {
  const refused = await start({ kind: "refuse" }).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ThreadRefused)
  expect(refused).toMatchObject({ message: "It is too late." })
})

test("a thread that fails as it begins rejects with its error", async () => {
  await expect(start({ kind: "fail" })).rejects.toThrow("It fails.")
})

test("a thread that fails later reports that to a listener, also a late one", async () => {
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

test("a thread loads before it has its data, and begins with them", async () => {
  const { port1, port2 } = new MessageChannel()
  const loading = loadThread(threadFile)
  const thread = await loading.start({ kind: "echo" } satisfies ThreadTask)
  const heard: unknown[] = []
  port1.addEventListener("message", ({ data }) => heard.push(data))
  thread.post({ port: port2, text: "hello" }, [port2])
  await expect.poll(() => heard).toEqual(["hello"])
  await loading[Symbol.asyncDispose]()
  await expect.poll(() => heard).toEqual(["hello", "closed"])
  port1.close()
})

test("a thread that was never started ends when it is disposed of", async () => {
  await expect(loadThread(threadFile)[Symbol.asyncDispose]()).resolves.toBe(undefined)
})
