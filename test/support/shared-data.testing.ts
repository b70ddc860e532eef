/**
 * Recorded posts, rules and responses, which are not part of this repository: they lie in the directory that
 * `SLUICE_SHARED` names, or in `../shared`. CI must have them; elsewhere tests that need them are skipped and print the
 * reason.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"

const directory = process.env.SLUICE_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url))

/** True when the recorded data is here. Throws in CI when it is not. */
export const hasSharedData: boolean = existsSync(join(directory, "data"))

if (!hasSharedData) {
  const why = `the recorded data is not in ${directory}; set SLUICE_SHARED to its directory`
  if (process.env.CI !== undefined) throw new Error(why)
  process.stderr.write(`skipping the tests that need recorded data: ${why}\n`)
}

/** Path of a file of the recorded data. */
export function sharedFile(path: string): string {
  return join(directory, path)
}

/** Lines of a file of the recorded data, unpacked when it is gzipped; the last line feed ends the last line. */
export function sharedLines(path: string): readonly string[] {
  const bytes = readFileSync(sharedFile(path))
  return (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8").trimEnd().split("\n")
}
