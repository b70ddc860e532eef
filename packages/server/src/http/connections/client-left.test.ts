import { EventEmitter } from "node:events"
import type { ServerResponse } from "node:http"
import type { FastifyReply } from "fastify"
import { expect, test } from "vitest"
import { HeldPages } from "../../queries/held-pages.ts"
import { clientLeft } from "./client-left.ts"
import { heldPage } from "../routes/held-page.ts"

function responseWhose(destroyed: boolean): ServerResponse {
  return Object.assign(new EventEmitter(), { destroyed }) as unknown as ServerResponse
}

test("a client leaves with the end of its response, also when that was before the first check", () => {
  const response = responseWhose(false)
  const left = clientLeft(response)
  expect(left.aborted).toBe(false)
  response.emit("close")
  expect(left.aborted).toBe(true)
  expect(clientLeft(responseWhose(true)).aborted).toBe(true)
})

test("a list whose client left while its request waited is not made, and uses no room", async () => {
  const heldPages = new HeldPages()
  const reply = { raw: responseWhose(true) } as unknown as FastifyReply
  let made = 0
  const ask = async (): Promise<unknown> =>
    heldPage(reply, heldPages, "5", () => {
      made += 1
      return Promise.resolve(Buffer.alloc(1_500_000))
    }).catch((error: unknown) => error)
  for (let number = 0; number < 10; number++) expect(await ask()).toMatchObject({ status: 503 })
  expect([made, heldPages.bytes]).toEqual([0, 0])
})
