/**
 * Lines of a file that grows, as a source of items: the example of docs/sources/writing.md, which the tests of readers run.
 * The position is the place behind the last line, in bytes.
 */
import { open } from "node:fs/promises"
import type { SettingsReader } from "../settings.ts"
import type { ReaderDeps } from "../source-kinds.ts"
import { feedMapper, itemBytesMax } from "./feed-mapper.ts"
import { readMapping } from "./feed-settings.ts"
import { readItems } from "./item-flow.ts"
import { AdvisedError, type RecordReader } from "./positioned-source.ts"

/** Settings of a source of this kind. */
export interface FileSettings {
  readonly path: string
  /** Time between two looks at the end of the file. */
  readonly pollMs: number
  readonly mapping: string | undefined
}

/** Reads the settings. Throws an `Error` that continues "The source NAME". */
export function readFileSettings(settings: SettingsReader): FileSettings {
  const file: FileSettings = {
    path: settings.text("path", { example: "/var/spool/posts.ndjson" }),
    pollMs: settings.wholeNumber("pollSeconds", [1, 3_600], 1) * 1_000,
    mapping: readMapping(settings),
  }
  settings.noOthers()
  return file
}

/** A reader of the source, whose mapping `checkMapping` has accepted. */
export function createFileReader({ path, pollMs, mapping }: FileSettings, deps: ReaderDeps): RecordReader {
  const mapper = feedMapper(mapping, deps.postBytesMax)
  const bytesMax = itemBytesMax(mapping, deps.postBytesMax)
  return {
    read: (position, sink, signal) =>
      readItems(mapper, sink, signal, async (flow) => {
        await using file = await open(path)
        sink.connected(path)
        const chunk = Buffer.alloc(bytesMax + 1)
        let at = Number(position ?? 0)
        while (!signal.aborted) {
          if ((await file.stat()).size < at) {
            await sink.gap({ reason: `${path} was cut, with any lines that were not read.` })
            at = 0
          }
          const { bytesRead } = await file.read(chunk, 0, chunk.length, at)
          const end = chunk.subarray(0, bytesRead).lastIndexOf("\n") + 1
          if (end === 0 && bytesRead > bytesMax) throw tooLong(path, at, bytesMax)
          let start = 0
          for (let lf = chunk.indexOf("\n"); lf !== -1 && lf < end; lf = chunk.indexOf("\n", start)) {
            await flow.take({ bytes: Buffer.from(chunk.subarray(start, lf)), cursor: String(at + lf + 1) })
            start = lf + 1
          }
          at += end
          if (end === 0) await deps.clock.sleep(pollMs, signal)
        }
      }),
    [Symbol.asyncDispose]: () => mapper[Symbol.asyncDispose](),
  }
}

function tooLong(path: string, at: number, bytesMax: number): AdvisedError {
  return new AdvisedError(
    `${path} has a line of more than ${bytesMax} bytes at byte ${at}.`,
    "Shorten the line, or raise postBytesMax.",
  )
}
