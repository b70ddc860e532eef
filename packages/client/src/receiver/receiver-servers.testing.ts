/** Receivers behind the servers that people use, for tests. */
import type { RequestListener } from "node:http"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import { listening } from "../../../../test/support/listening.testing.ts"
import { fastifyPlugin, honoHandler, nodeHandler } from "./adapters.ts"
import type { Receiver } from "./receiver.ts"

/** Starts a server on a free port, with the receiver at `/hook`. */
export type Start = (receive: Receiver) => Promise<{ readonly url: string } & AsyncDisposable>

/** A server of Express with what `mount` puts into it. */
export const byExpress =
  (mount: (app: ReturnType<typeof express>, receive: Receiver) => void): Start =>
  (receive) => {
    const app = express()
    // No test reads its reports of errors.
    app.set("env", "test")
    mount(app, receive)
    return listening(app as RequestListener)
  }

/** One of each. */
export const servers: readonly (readonly [name: string, start: Start])[] = [
  ["Node's http", (receive) => listening(nodeHandler(receive))],
  ["Express", byExpress((app, receive) => app.use("/hook", nodeHandler(receive)).use(express.json()))],
  [
    "Express behind a parser of bytes",
    byExpress((app, receive) => app.use("/hook", express.raw({ type: "*/*" }), nodeHandler(receive))),
  ],
  [
    "Fastify",
    async (receive) => {
      const app = fastify()
      app.post("/json", async (request) => request.body)
      await app.register(fastifyPlugin(receive), { prefix: "/hook" })
      const url = await app.listen({ port: 0, host: "127.0.0.1" })
      return { url, [Symbol.asyncDispose]: () => app.close() }
    },
  ],
  [
    "Hono",
    async (receive) => {
      const app = new Hono()
      app.all("/hook", honoHandler(receive))
      // Hono runs where requests are `Request`s; here the other adapter makes them.
      return listening(nodeHandler(async (request) => app.fetch(request)))
    },
  ],
]
