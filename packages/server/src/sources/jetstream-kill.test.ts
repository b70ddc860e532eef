/** Processes that share a consumer of JetStream, one of which is killed. */
import { join } from "node:path"
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { SluiceProcess } from "../../../../test/support/sluice-process.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { envelope } from "../../../../test/support/test-server.testing.ts"
import { describeWithNats, testStream } from "./nats.testing.ts"
import { callsWith, storedIds, type Calls } from "./stored-ids.testing.ts"

/** Requests to the server that has printed this line. */
function callsTo(line: string): Calls {
  const { url, app } = JSON.parse(line) as { url: string; app: { bearer_token: string } }
  return callsWith(url, app.bearer_token)
}

const post = (server: Calls, path: string, type: string, body: unknown) =>
  server.call(path, { method: "POST", headers: { "content-type": type }, body: JSON.stringify(body) })

describeWithNats("a process that ingests posts from JetStream", () => {
  test("is killed in mid-load: no post is lost, and none is stored or matched twice", async () => {
    await using stream = await testStream()
    await stream.makeConsumer({ ackWaitMs: 2_000 })
    await using directory = await temporaryDirectory()
    const settings = Object.entries(stream.flags).map(([flag, value]) => [
      `SLUICE_${flag.replaceAll("-", "_").toUpperCase()}`,
      value,
    ])
    const start = (name: string) => new SluiceProcess(join(directory.path, name), { env: Object.fromEntries(settings) })
    await using killed = start("first")
    await using other = start("second")
    const [ofKilled, ofOther] = [callsTo(await killed.mustBeReady()), callsTo(await other.mustBeReady())]
    await post(ofKilled, paths.rules, "application/json", { add: [{ value: "heron" }] })

    const ids = Array.from({ length: 3_000 }, (_, at) => at + 1)
    const publish = (from: number, to: number) =>
      stream.publish(...ids.slice(from, to).map((id) => envelope(id, `heron ${id}`)))
    for (let from = 0; from < 2_000; from += 100) await publish(from, from + 100)
    await expect.poll(async () => ((await ofKilled.call(paths.posts)).body.data as unknown[]).length).toBeGreaterThan(0)
    // From now on what is sent to it is not acknowledged: it dies with messages in flight, wherever it is in its work.
    process.kill(killed.pid, "SIGSTOP")
    await publish(2_000, 3_000)
    await expect.poll(() => stream.unfinished()).toBeGreaterThan(0)
    killed.end("SIGKILL")
    expect((await killed.ended()).signal).toBe("SIGKILL")

    await using again = start("first")
    const ofAgain = callsTo(await again.mustBeReady())
    await expect.poll(() => stream.unfinished()).toBe(0)
    const [stored, storedByOther] = [await storedIds(ofAgain), await storedIds(ofOther)]
    expect([...new Set([...stored, ...storedByOther])].toSorted((a, b) => a - b)).toEqual(ids)
    expect(storedByOther.length).toBeGreaterThan(0)
    // Each match has the next position: this one counts them all.
    await post(ofAgain, paths.posts, "application/x-ndjson", envelope(1_000_000, "a heron"))
    const { body } = await ofAgain.call(paths.post.replace(":post_id", "1000000"))
    expect(body.matches).toMatchObject([{ position: stored.length + 1 }])
  })
})
