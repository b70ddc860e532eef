/** `sluice dev` with one source in its configuration file. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { createClient } from "../packages/client/src/index.ts"
import { startSluice, type MeasuredSluice } from "./servers.ts"

const name = "bench"

/** Starts one, with a source of a type and its settings. */
export async function startSourced(
  source: Readonly<Record<string, unknown>> & { readonly type: string },
): Promise<MeasuredSluice> {
  await using starting = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), "sluice-sourced-"))
  starting.defer(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, "sluice.json")
  await writeFile(file, JSON.stringify({ sources: [{ name, ...source }] }))
  const sluice = starting.use(await startSluice({ settings: { SLUICE_CONFIG: file } }))
  const owned = starting.move()
  return { ...sluice, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Time between two looks at the source, which cost the server some 0.1 ms each. */
const pollMs = 10

/** Resolves when everything up to a position of the source is stored. */
export async function storedUpTo({ url, operatorToken: token }: MeasuredSluice, position: string): Promise<void> {
  const client = createClient({ url, token })
  for (;;) {
    const { data } = await client.request("GET", "source", { parameters: { name } })
    if (data.position === position) return
    await sleep(pollMs)
  }
}

/** Resolves when the source is connected. */
export async function sourceConnected({ url, operatorToken: token }: MeasuredSluice): Promise<void> {
  const client = createClient({ url, token })
  for (;;) {
    const { data } = await client.request("GET", "source", { parameters: { name } })
    if (data.activity === "running") return
    await sleep(pollMs)
  }
}
