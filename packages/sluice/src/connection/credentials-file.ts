import { randomUUID } from "node:crypto"
import { constants, lstat, open, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import type { AppCredentials, Config } from "@sluice/server"
import { Failure, messageOf } from "../process/failure.ts"

/** Where `sluice dev` keeps everything by default. */
export const defaultDataDirectory = ".sluice"

/** What `sluice dev` leaves for the client commands. */
export interface SavedCredentials {
  /** Where the server listened last. */
  readonly url: string
  /** Without its client id and secret when an earlier version wrote the file. */
  readonly app: Omit<AppCredentials, "client_id" | "client_secret"> &
    Partial<Pick<AppCredentials, "client_id" | "client_secret">>
  readonly operator_token: string
}

/**
 * Where `sluice dev` leaves them. Those of a database have a directory of their own, so that they neither take the place of
 * those of an embedded store nor let a store be missed beside them.
 */
export function credentialsDirectory({ data, database }: Pick<Config, "data" | "database">): string {
  return database === undefined ? data : join(data, databaseName)
}

const databaseName = "database"

const pathIn = (dataDirectory: string): string => join(dataDirectory, "credentials.json")

/** The credentials that `dev` left in a data directory; `undefined` when it left none. */
export async function readCredentials(dataDirectory: string): Promise<SavedCredentials | undefined> {
  const path = pathIn(dataDirectory)
  let text: string
  try {
    text = await readOwnFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw new Failure(`${path} cannot be read: ${messageOf(error)}.`, [], { cause: error })
  }
  const value = parsed(text)
  if (!isSavedCredentials(value)) {
    throw new Failure(`${path} does not hold what \`sluice dev\` writes there.`, [
      "Delete it and start `sluice dev` again.",
    ])
  }
  return value
}

/** What a search for credentials knows of the system. */
interface SearchedSystem {
  /** Id of this process's user; `undefined` on systems without such ids, where owners are not compared. */
  readonly userId: number | undefined
  /** A number that two directories share when they are on one file system. */
  readonly fileSystemOf: (directory: string) => Promise<number>
}

const thisSystem: SearchedSystem = {
  userId: process.getuid?.(),
  fileSystemOf: async (directory) => (await stat(directory)).dev,
}

/**
 * The credentials that `dev` left in the default data directory of `from` or of the nearest directory above it, up to
 * the root of the file system that `from` is on, as git finds a repository; of those of an embedded store and of a
 * database, the ones that were written last. Throws `Failure` for a directory or file that
 * belongs to another user, who could have everything sent to a server of theirs.
 */
export async function findCredentials(
  from: string,
  { userId, fileSystemOf } = thisSystem,
): Promise<SavedCredentials | undefined> {
  const start = resolve(from)
  const fileSystem = await fileSystemOf(start)
  for (let directory = start; ; directory = dirname(directory)) {
    const data = join(directory, defaultDataDirectory)
    const written = [
      { place: data, atMs: await writtenAtMs([data], userId) },
      { place: join(data, databaseName), atMs: await writtenAtMs([join(data, databaseName), data], userId) },
    ].toSorted((a, b) => b.atMs - a.atMs)
    const [last] = written
    if (last !== undefined && last.atMs > 0) return readCredentials(last.place)
    const parent = dirname(directory)
    if (parent === directory || (await fileSystemOf(parent)) !== fileSystem) return undefined
  }
}

/**
 * When the credentials of a directory were written, 0 when it has none. `directories` are it and those above it whose
 * owner counts too. Greater than 0, too, when it may have them and cannot be read.
 */
async function writtenAtMs(directories: readonly [string, ...string[]], userId: number | undefined): Promise<number> {
  const [own] = directories
  let atMs = 1
  for (const path of [pathIn(own), ...directories]) {
    // Of a symbolic link its own owner counts: who made it chose where it leads.
    const found = await lstat(path).catch((error: NodeJS.ErrnoException) => error)
    if (found instanceof Error) {
      if (found.code === "ENOENT" || found.code === "ENOTDIR") return 0
    } else if (userId !== undefined && found.uid !== userId) {
      throw new Failure(`${path} belongs to another user, and is not used.`, [
        `If you trust it, name it: --data ${own}`,
      ])
    } else if (path === pathIn(own)) atMs = found.mtimeMs
  }
  return atMs
}

/**
 * Makes ready where credentials go, before anything else is done for them. Throws `ConfigError` when that cannot be made,
 * or belongs to another user.
 */
export async function ensureCredentialsDirectory(config: Pick<Config, "data" | "database">): Promise<void> {
  await ensureDirectories([config.data, credentialsDirectory(config)])
}

async function ensureDirectories(directories: readonly string[]): Promise<void> {
  // Loaded here, since only commands that run a server write credentials.
  const { ensureOwnDirectory } = await import("@sluice/server")
  for (const directory of directories) ensureOwnDirectory(directory)
}

/** Puts credentials into a data directory, for its owner's eyes only. There is never a half-written file. */
export async function writeCredentials(dataDirectory: string, credentials: SavedCredentials): Promise<string> {
  const path = pathIn(dataDirectory)
  // Nobody can know the name, and a file or link that has it all the same is not written to.
  const draft = `${path}.${randomUUID()}`
  try {
    await ensureDirectories([dataDirectory])
    await writeFile(draft, `${JSON.stringify(credentials, undefined, 2)}\n`, { mode: 0o600, flag: "wx" })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw new Failure(`${path} cannot be written: ${messageOf(error)}.`, [], { cause: error })
  }
  return path
}

/** A file's text. Whatever else has the name is refused: a FIFO would have us wait. */
async function readOwnFile(path: string): Promise<string> {
  const { O_RDONLY, O_NONBLOCK } = constants
  const handle = await open(path, O_RDONLY | O_NONBLOCK)
  try {
    if (!(await handle.stat()).isFile()) throw new Error("it is no file")
    return await handle.readFile("utf8")
  } finally {
    await handle.close()
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const appMembers = [
  "application_id",
  "business_user_id",
  "instance_id",
  "consumer_key",
  "consumer_secret",
  "bearer_token",
] as const satisfies readonly (keyof AppCredentials)[]

function isSavedCredentials(value: unknown): value is SavedCredentials {
  const saved = value as Partial<SavedCredentials> | null | undefined
  if (typeof saved?.url !== "string" || typeof saved.operator_token !== "string") return false
  const app = saved.app as Partial<AppCredentials> | undefined
  return appMembers.every((member) => typeof app?.[member] === "string")
}
