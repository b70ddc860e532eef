/** Lists: the body and the status of an empty one. Each test bears the id of its row of docs/compatibility.md. */
import { paths } from "@sluice/api"
import { expect } from "vitest"
import { addRules, appWithReceiver, ingestPosts, link, newUser, postsPath, test } from "./support.testing.ts"

test("empty-page: an empty page counts 0, holds an empty list, and has no tokens and no ids", async ({ server }) => {
  const app = await server.newApp()
  const user = newUser()
  const [id] = await ingestPosts(server, user, 1)
  const nothing = { result_count: 0 }
  expect((await app.call(postsPath(user, `?since_id=${id}`))).body).toEqual({ data: [], meta: nothing })
  expect((await app.call(`${paths.links}?max_results=10`)).body).toEqual({
    data: { links: [] },
    meta: nothing,
  })
  expect((await app.call(paths.webhooks)).body).toEqual({ data: [], meta: nothing })
})

test("empty-rules: an app without rules gets a list without data, and may delete no rules without an error", async ({
  server,
}) => {
  const app = await server.newApp()
  const sent = expect.stringMatching(/Z$/) as string
  const nothing = { meta: { sent, result_count: 0 } }
  expect((await app.call(paths.rules)).body).toEqual(nothing)
  for (const body of [{ delete: { ids: [] } }, { delete: { values: [] } }, { delete: { ids: [], values: [] } }]) {
    for (const query of ["", "?dry_run=true"]) {
      const deleted = await app.send("POST", paths.rules + query, body)
      expect(deleted.status).toBe(200)
      expect(deleted.body).toEqual({ meta: { sent, summary: { deleted: 0, not_deleted: 0 } } })
    }
  }
  const [id] = await addRules(app, { value: "cat" })
  expect((await app.send("POST", paths.rules, { delete: { ids: [] } })).body.meta.summary.deleted).toBe(0)
  expect((await app.call(`${paths.rules}?ids=1`)).body.data).toEqual([])
  expect((await app.call(paths.rules)).body.data).toEqual([{ id, value: "cat" }])
  await app.send("POST", paths.rules, { delete: { ids: [id] } })
  expect((await app.call(paths.rules)).body).toEqual(nothing)
})

test("list-status: a list has the status 200, empty or not", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  const user = newUser()
  await ingestPosts(server, user, 1)
  const lists = [paths.links, `${paths.links}?max_results=1`, paths.webhooks, paths.rules, paths.linkDetails]
  const statuses = async (): Promise<readonly number[]> =>
    Promise.all([...lists, postsPath(user)].map(async (path) => (await linked.call(path)).status))
  expect(new Set(await statuses())).toEqual(new Set([200]))
  await addRules(linked, { value: "cat" })
  await link(linked, await linked.webhook())
  expect(new Set(await statuses())).toEqual(new Set([200]))
})
