/** Attacks that begin and end connections: challenges, streams, sessions, callers. */
import { once } from "node:events"
import { createServer, type AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "../../packages/api/src/paths.ts"
import { repeated, send, type Attack } from "./traffic.ts"

/** Webhooks at an endpoint that takes every challenge and never responds. */
export const challenges: Attack = {
  async run(app, signal) {
    const silent = createServer((socket) => socket.on("error", () => undefined))
    await once(silent.listen(0, "127.0.0.1"), "listening")
    const { port } = silent.address() as AddressInfo
    let next = 0
    const register = async (): Promise<void> => {
      const body = JSON.stringify({ url: `http://127.0.0.1:${port}/${next++}` })
      const status = await send(app, "POST", paths.webhooks, body, signal)
      // Waits as long as the response asks for. Without the wait this would be a flood of requests, not of challenges.
      if (status === 429) await sleep(1_000 + 1_000 * Math.random(), undefined, { signal })
    }
    await Promise.all(repeated(3_000, signal, register))
    silent.close()
  },
}

/** Opens and closes streams, more at once than the app may have. */
export const streamsOpened: Attack = {
  async run(app, signal) {
    const open = async (): Promise<void> => {
      const left = new AbortController()
      const either = AbortSignal.any([left.signal, signal])
      const response = await fetch(app.url + paths.stream, {
        headers: { authorization: `Bearer ${app.token}` },
        signal: either,
      })
      await response.body?.cancel()
      left.abort()
    }
    await Promise.all(repeated(20, signal, open))
  },
}

/** Signs in with the app's token and signs out at once. */
export const signOuts: Attack = {
  async run(app, signal) {
    const signIn = JSON.stringify({ token: app.token })
    const url = app.url + paths.session
    const signInAndOut = async (): Promise<void> => {
      const begun = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: signIn,
        signal,
      })
      const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? ""
      const { data } = (await begun.json()) as { data?: { csrf_token?: string } }
      const headers = { cookie, "sluice-csrf": data?.csrf_token ?? "" }
      const ended = await fetch(url, { method: "DELETE", headers, signal })
      await ended.body?.cancel()
    }
    await Promise.all(repeated(50, signal, signInAndOut))
  },
}

/** Sends a token after one, two, three … spaces, each spelling on a separate connection. */
export const spelledCallers: Attack = {
  async run(app, signal) {
    await Promise.all(
      Array.from({ length: 500 }, (_, at) => {
        const headers = { authorization: `Bearer${" ".repeat(at + 1)}${app.token}` }
        return repeated(1, signal, () => send(app, "GET", paths.rules, undefined, signal, headers))
      }).flat(),
    )
  },
}

/** Sends well-formed tokens of no app, a different one with each request. */
export const unknownTokens: Attack = {
  async run(app, signal) {
    let next = 0
    const ask = async (): Promise<void> => {
      const headers = { authorization: `Bearer sluice_app_${String(next++).padStart(43, "0")}` }
      await send(app, "GET", paths.rules, undefined, signal, headers)
    }
    await Promise.all(repeated(1_500, signal, ask))
  },
}
