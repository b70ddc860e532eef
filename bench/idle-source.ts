/**
 * The cost of an idle source: processor time of a server with a source of Bluesky whose Jetstream sends nothing but
 * responses to pings, of one whose Jetstream sends an event a second that is no post, and of one without a source. The
 * first names an author, since a source of all authors takes silence for a lost connection.
 */
import { startJetstream } from "../packages/server/src/sources/bluesky/jetstream-server.testing.ts"
import { metrics } from "./app-client.ts"
import { BlueskyFrames } from "./bluesky-frames.ts"
import { atConstantRate } from "./constant-rate.ts"
import { figure, median, type Figure } from "./figure.ts"
import { startSluice, type MeasuredSluice } from "./servers.ts"
import { sourceConnected, startSourced } from "./sourced-server.ts"

const author = "did:plc:z72i7hdynmk6r22z27h6tvur"

/** Prints the processor time of a minute. */
export async function idleSource(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const seconds = isQuick ? 20 : 60
  await using silent = await startJetstream()
  await using slow = await startJetstream()
  await using resources = new AsyncDisposableStack()
  const none = resources.use(await startSluice())
  const ofSilent = resources.use(await startSourced({ type: "bluesky", urls: [silent.url], dids: [author] }))
  const ofSlow = resources.use(await startSourced({ type: "bluesky", urls: [slow.url] }))
  for (const server of [ofSilent, ofSlow]) await sourceConnected(server)
  const recorded = new BlueskyFrames()
  const send = (): void => slow.sendRaw(recorded.other(Date.now()))
  const servers = [none, ofSilent, ofSlow]
  const seen = servers.map((): number[] => [])
  // The servers finish their start before.
  await atConstantRate(1, 10, send)
  for (let round = 0; round < 3; round += 1) {
    const before = await Promise.all(servers.map(cpuSeconds))
    await atConstantRate(1, seconds, send)
    const after = await Promise.all(servers.map(cpuSeconds))
    for (const [at, of] of seen.entries()) of.push((((after[at] ?? 0) - (before[at] ?? 0)) * 60) / seconds)
  }
  const [limit = Number.NaN, ...values] = seen.map(median)
  for (const [at, name] of ["idle-source-silent", "idle-source-slow"].entries()) {
    const value = values[at] ?? Number.NaN
    print(figure({ name, value, unit: "CPU s a minute", limit, limitIs: "a server without a source" }))
  }
}

/** User and system time together. */
async function cpuSeconds(server: MeasuredSluice): Promise<number> {
  return (await metrics(server)).get("process_cpu_seconds_total") ?? Number.NaN
}
