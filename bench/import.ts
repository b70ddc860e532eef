/**
 * `sluice import` as a separate process: how soon a stream connection sends a line of a live pipe, and how fast the
 * command imports a file.
 *
 * The bench writes a line every 100 ms, and times it until its record arrives; the goal is the limit. The limit of a
 * file is one request whose body is the same file: the work of the import, without reading lines and without waiting
 * for each chunk to be durable.
 *
 * Source of the goals: 300 ms by requirement; the ratio of the file is ours.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { createClient } from "../packages/client/src/index.ts"
import { addRules, sendPosts } from "./app-client.ts"
import { endWithBench } from "./child-processes.ts"
import { figure, median, quantile, type Figure } from "./figure.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import { startSluice, type MeasuredSluice } from "./servers.ts"

const command = fileURLToPath(new URL("../packages/sluice/src/sluice.ts", import.meta.url))
const linesWritten = 100
const filePosts = 50_000

/** Prints the figures of the import. */
export async function importing(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  await using sluice = await startSluice()
  await addRules(sluice, [madeWord])
  const latenciesMs = await livePipe(sluice)
  for (const [name, share] of [
    ["p50", 0.5],
    ["p99", 0.99],
  ] as const) {
    print(
      figure(
        {
          name: `import-live-${name}`,
          value: quantile(latenciesMs, share),
          unit: "ms",
          limit: 300,
          limitIs: "the allowed time",
        },
        { atMost: 1 },
      ),
    )
  }
  print(await file(sluice, isQuick ? 1 : 5))
}

/** Imports from `source` in a separate process, and returns its input. */
function startImport({ url, token }: MeasuredSluice, source: string) {
  const env = { ...process.env, SLUICE_URL: url, SLUICE_TOKEN: token }
  return endWithBench(
    spawn(process.execPath, [command, "import", source], { env, stdio: ["pipe", "ignore", "inherit"] }),
  )
}

/** Milliseconds from each line's writing to its record. */
async function livePipe(sluice: MeasuredSluice): Promise<readonly number[]> {
  const leave = new AbortController()
  const child = startImport(sluice, "-")
  const writtenAtMs = new Map<string, number>()
  const latenciesMs: number[] = []
  const reading = (async () => {
    for await (const { body } of createClient(sluice).stream({
      query: { backfill_minutes: 1 },
      signal: leave.signal,
    })) {
      const atMs = writtenAtMs.get(body?.data?.id ?? "")
      if (atMs !== undefined) latenciesMs.push(performance.now() - atMs)
      if (latenciesMs.length === linesWritten) return
    }
  })()
  const write = (line: number): void => {
    const id = String(1_000_000_000 + line)
    writtenAtMs.set(id, performance.now())
    child.stdin.write(`{"data":{"id":"${id}","text":"${madeWord}"}}\n`)
  }
  // Starts the command before the timing: on a busy machine the first lines would wait for it.
  write(0)
  while (latenciesMs.length === 0) await sleep(10)
  latenciesMs.length = 0
  for (let line = 1; line <= linesWritten; line++) {
    write(line)
    await sleep(100)
  }
  await reading
  leave.abort()
  child.stdin.end()
  await once(child, "close")
  return latenciesMs
}

async function file(sluice: MeasuredSluice, rounds: number): Promise<Figure> {
  const directory = await mkdtemp(join(tmpdir(), "sluice-bench-"))
  const path = join(directory, "posts.ndjson")
  const made = new MadePosts()
  const perSecond = async (work: () => Promise<unknown>): Promise<number> => {
    await writeFile(path, made.take(filePosts))
    const startMs = performance.now()
    await work()
    return (filePosts / (performance.now() - startMs)) * 1_000
  }
  const imported: number[] = []
  const sent: number[] = []
  for (let round = 0; round < rounds; round++) {
    imported.push(await perSecond(() => once(startImport(sluice, path), "close")))
    sent.push(await perSecond(async () => sendPosts(sluice, await readFile(path), filePosts)))
  }
  await rm(directory, { recursive: true })
  return figure(
    {
      name: "import-file",
      value: median(imported),
      unit: "posts/s",
      limit: median(sent),
      limitIs: "one request with the same body",
    },
    { atLeast: 0.6 },
  )
}
