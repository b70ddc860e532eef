/**
 * Real posts to measure with: envelopes as X sent them, one a line, 2.86 KB on average.
 *
 * They are not ours to publish: they lie next to the repository, or where `SLUICE_SHARED` says.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"

/** The directory of recorded data. */
export const sharedDirectory = process.env["SLUICE_SHARED"] ?? fileURLToPath(new URL("../../shared", import.meta.url))
const file = join(sharedDirectory, "data/x/posts-full.ndjson.gz")
const lineFeed = 0x0a
const newline = Buffer.of(lineFeed)

/** Returns why there is nothing to measure with; undefined when the posts are there. */
export function envelopesMissing(): string | undefined {
  if (existsSync(file)) return undefined
  return `no real posts: ${file} is missing; set SLUICE_SHARED to the folder that holds data/`
}

/** Envelopes as bytes, in the order of the file. */
export class Envelopes {
  readonly #bytes: Buffer
  /** The start of each line, and the end of the last one. */
  readonly #starts: readonly number[]

  private constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#starts = startsOf(bytes)
  }

  /** Reads all of them. */
  static read(): Envelopes {
    return new Envelopes(gunzipSync(readFileSync(file)))
  }

  get count(): number {
    return this.#starts.length - 1
  }

  /** The envelope's text, decoded anew each time. */
  text(index: number): string {
    return this.#bytes.toString("utf8", this.#starts[index], (this.#starts[index + 1] ?? 0) - 1)
  }

  /** These envelopes as NDJSON. */
  lines(indexes: readonly number[]): Buffer {
    return Buffer.concat(
      indexes.flatMap((index) => [
        this.#bytes.subarray(this.#starts[index], (this.#starts[index + 1] ?? 0) - 1),
        newline,
      ]),
    )
  }

  /** Every n-th envelope as NDJSON, from the given one on: neighbouring posts of the file share a subject. */
  every(step: number, from: number): Buffer {
    const lines: Buffer[] = []
    for (let index = from; index < this.count; index += step)
      lines.push(this.#bytes.subarray(this.#starts[index], this.#starts[index + 1]))
    return Buffer.concat(lines)
  }
}

/** Calls back with each line of the NDJSON as text, in the way of the intake: cut first, then decoded. */
export function forEachLine(bytes: Buffer, take: (text: string) => void): void {
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(lineFeed, from)
    const to = end < 0 ? bytes.length : end
    take(bytes.toString("utf8", from, to))
    from = to + 1
  }
}

function startsOf(bytes: Buffer): readonly number[] {
  const starts = [0]
  for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, end + 1)) starts.push(end + 1)
  if (starts.at(-1) !== bytes.length) starts.push(bytes.length + 1)
  return starts
}
