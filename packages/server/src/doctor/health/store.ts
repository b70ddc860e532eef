/** The server of the store's database, and the store's version. */
import type { DatabaseServer } from "../../store/engine.ts"
import { fault, good, warning, type Finding } from "../finding.ts"

/** The findings about the server of a database, whose name `place` goes behind "the" in a sentence. */
export function databaseFindings(place: string, server: DatabaseServer): readonly Finding[] {
  const { version, synchronousCommit, faults, warnings } = server
  const noServer = "No server starts on it like this."
  const found = [
    ...faults.map((text) => fault("store", `The ${place} ${text}`, noServer)),
    ...warnings.map(({ text, advice }) => warning("store", `The ${place} ${text}`, advice)),
  ]
  const sound = `The ${place} is PostgreSQL ${version}, with page checksums and synchronous_commit = ${synchronousCommit}.`
  return found.length === 0 ? [good("store", sound)] : found
}

/** The findings about a store of another version. */
export function versionFindings(
  kind: "older" | "newer",
  { version, knownVersion }: { readonly version: number; readonly knownVersion: number },
): readonly Finding[] {
  const text = `The store has version ${version}, and this program works with version ${knownVersion}`
  return kind === "newer"
    ? [fault("store", `${text}: it was made by a newer Sluice.`, "Use that one, or another store.")]
    : [
        warning(
          "store",
          `${text}: the next start of the server migrates it. Until then nothing more can be proved.`,
          "Back it up, start the server, and run this again.",
        ),
      ]
}
