/** A server that was killed with a million matches in its logs, and some of them undelivered. */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { loadConfig } from "../../packages/server/src/config.ts"
import { readEnvelope } from "../../packages/server/src/ingest/read-envelope.ts"
import { openApps } from "../../packages/server/src/commands.ts"
import type { AppId, RuleId } from "../../packages/server/src/model/ids.ts"
import type { AcceptedPost } from "../../packages/server/src/model/post.ts"
import { openEmbeddedStore } from "../../packages/server/src/store/embedded/serving/embedded-store.ts"
import { AppClient, postLine } from "./app-client.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { readyMsMax, SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const apps = 100
const postsPerApp = 10_000
const batchPosts = 500

test(
  `a killed server is ready again within ${readyMsMax / 1_000} s with ${apps * postsPerApp} log entries, and delivers`,
  { timeout: 300_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    let webhookId: string
    let endpoint: WebhookReceiver
    let appId: AppId
    {
      await using server = new SluiceProcess(data)
      const app = new AppClient(await server.mustBeReady())
      appId = app.id as AppId
      endpoint = await WebhookReceiver.start(app.consumerSecret)
      webhookId = await app.link(endpoint.url)
      server.end("SIGTERM")
      expect((await server.ended()).code).toBe(0)
    }
    await using receiver = endpoint

    const killed = join(directory.path, "killed")
    {
      await using opened = await openApps(loadConfig({ posture: "serve", flags: { data }, env: {} }))
      const appIds = [appId]
      while (appIds.length < apps) {
        const { application_id: id } = await opened.apps.create(`app ${appIds.length}`)
        appIds.push(id as AppId)
      }
      await using store = await openEmbeddedStore({ file: join(data, "sluice.db") })
      const atMs = Date.now()
      const matches = appIds.map((id) => ({ appId: id, rules: [{ id: "1" as RuleId, tag: "all" }] }))
      for (let first = 1; first <= postsPerApp; first += batchPosts) {
        const posts = Array.from({ length: batchPosts }, (_, index) => acceptedPost(first + index, atMs))
        await store.append(
          posts.map((post) => ({ post, matches })),
          atMs,
        )
      }
      const heads = [...(await store.heads()).values()]
      expect(heads.reduce((sum, head) => sum + head, 0)).toBe(apps * postsPerApp)
      // Copies the files while the process has them open, in the state that a kill leaves.
      cpSync(data, killed, { recursive: true })
    }

    await using server = new SluiceProcess(killed)
    const app = new AppClient(await server.mustBeReady())
    console.log(`long log: ready after ${server.readyMs.toFixed()} ms`)
    expect(server.readyMs).toBeLessThan(readyMsMax)
    expect((await app.linkState(webhookId)).head).toBe(postsPerApp)
    await receiver.arrived(500)
    expect(new Set(receiver.postIds).size).toBe(receiver.received.length)
    expect(await app.ingest([postLine(1, "a cat"), postLine(postsPerApp + 1, "a dog")])).toEqual({
      accepted: 1,
      duplicates: 1,
    })
  },
)

function acceptedPost(id: number, atMs: number): AcceptedPost {
  const read = readEnvelope(postLine(id, "a cat"), atMs)
  if (!read.ok) throw new Error(read.detail)
  return read.post
}
