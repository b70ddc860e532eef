/**
 * A copy of a store that is put into a directory: complete and checked, or not at all.
 *
 *     directory/.partial-…/   everything is written here, and examined as `sluice doctor` does
 *     directory/              then each file is moved here: first the files next to the store, then the store, then its
 *                             description
 *
 * A directory without a store is not a backup, and no server starts in it while the partial directory exists; so a placement
 * that is killed half-way leaves nothing that looks whole. The next placement removes its remains.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { basename, join } from "node:path"
import type { Config } from "../config.ts"
import { readKey } from "../doctor/read-key.ts"
import { readStore } from "../doctor/read-store.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { armCrashPoint, crashPoint } from "../runtime/crash-points.ts"
import type { Random } from "../runtime/random.ts"
import { ensureDirectory, partialPrefix } from "../startup/data-directory.ts"
import type { StoreFiles } from "../store/engine.ts"
import { storeEngineOf, storeFilesIn } from "../store/open.ts"
import { DataDirectoryInUse } from "../store/store-faults.ts"

/** A store to put somewhere. */
export interface Placement {
  /** The store that is copied. */
  readonly from: StoreFiles
  /** The directory that the copy is put into. */
  readonly to: string
  readonly random: Random
  /** As the copy's own server would have it; `data` aside. Its key, if there is one, must open the copy's secrets. */
  readonly config: Config
  /** The key that the copy must open with; absent when there is none to try. */
  readonly key?: Uint8Array | undefined
  /** Files to place next to the store: text by name. */
  readonly filesFor: (copy: StoreFiles) => Promise<Readonly<Record<string, string>>>
  /** The name of the text that describes the store, and is never there without it. */
  readonly description?: string
  readonly report?: ReportStage | undefined
}

/** Called when a stage begins. */
export type ReportStage = (stage: "copying" | "verifying") => void

/** Names in a directory that another placement, or the lock of one, has left there. */
export function isLeftOver(name: string, { all }: StoreFiles): boolean {
  // A lock that was killed may leave a file of its own, whose name goes on.
  return name.startsWith(partialPrefix) || all.some((file) => file.isLock === true && name.startsWith(file.name))
}

/** Refuses a store that is not kept in files: its database's own tools are better at copying it. Throws `ConfigError`. */
export function refuseDatabase(config: Config): void {
  if (storeEngineOf(config).files !== undefined) return
  throw new ConfigError(
    "The store is a PostgreSQL database, which is backed up and restored with PostgreSQL's own tools, such as pg_dump and " +
      'pg_restore: see "PostgreSQL" in docs/operations.md.',
  )
}

/**
 * Puts a copy of a store into a directory, and returns what was found in it, as a sentence. Throws `ConfigError` when
 * the copy is not whole, and the error that keeps it from being written; then nothing has changed.
 */
export async function placeStore(placement: Placement): Promise<string> {
  const { from, to, random, config, report } = placement
  const place = storeFilesIn(to)
  armCrashPoint(config.crashPoint)
  const isNew = !existsSync(to)
  ensureDirectory(place)
  const name = partialPrefix + Buffer.from(random.bytes(6)).toString("hex")
  const partial = join(to, name)
  // Before anything else: it keeps a server from starting here before the store is in its place.
  mkdirSync(partial, { mode: 0o700 })
  flushDirectory(to)
  try {
    using _lock = place.lock()
    removeLeftOvers(to, name)
    report?.("copying")
    const copy = storeFilesIn(partial)
    await from.copyTo(partial)
    report?.("verifying")
    const found = await examined({ ...config, data: partial }, placement.key)
    const files = await placement.filesFor(copy)
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(join(partial, file), text, { mode: 0o600, flag: "wx", flush: true })
    }
    moveInto(to, partial, { store: basename(copy.find().path), description: placement.description })
    return found
  } catch (error) {
    const isOurs = isNew && !(error instanceof DataDirectoryInUse)
    rmSync(isOurs ? to : partial, { recursive: true, force: true })
    throw error
  }
}

/** Removes what other placements have left. */
function removeLeftOvers(directory: string, own: string): void {
  for (const name of readdirSync(directory)) {
    if (name.startsWith(partialPrefix) && name !== own) rmSync(join(directory, name), { recursive: true })
  }
}

/** Examines the copy as `sluice doctor` does. The sentence on what is whole. */
async function examined(config: Config, key: Uint8Array | undefined): Promise<string> {
  const { findings, seen } = await readStore(storeEngineOf(config), config)
  const keyFindings =
    key === undefined ? [] : readKey({ ...config, masterKey: Buffer.from(key).toString("hex") }, seen).findings
  const faults = [...findings.filter(({ subject }) => subject === "store" || subject === "proof"), ...keyFindings]
    .filter(({ level }) => level === "error")
    .map(({ text }) => text)
  if (faults.length > 0) {
    throw new ConfigError(
      `The copy is not whole and is not kept: ${faults[0]}${faults.length > 1 ? ` (and ${faults.length - 1} more)` : ""} ` +
        "Run `sluice doctor` on the store that it was made of.",
    )
  }
  return findings.find(({ subject }) => subject === "store")?.text ?? ""
}

/** Moves all files to their places, each durable before the next: the store after the files next to it, its description last. */
function moveInto(
  to: string,
  partial: string,
  { store, description }: { readonly store: string; readonly description: string | undefined },
): void {
  const others = readdirSync(partial).filter((name) => name !== store && name !== description)
  for (const name of [...others, store, ...(description === undefined ? [] : [description])]) {
    crashPoint("in-placing")
    renameSync(join(partial, name), join(to, name))
    flushDirectory(to)
  }
  crashPoint("in-placing")
  rmSync(partial, { recursive: true })
  chmodSync(to, 0o700)
  flushDirectory(to)
}

function flushDirectory(directory: string): void {
  const entries = openSync(directory, "r")
  try {
    fsyncSync(entries)
  } finally {
    closeSync(entries)
  }
}
