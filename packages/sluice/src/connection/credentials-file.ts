import { randomUUID } from "node:crypto"
import { constants, lstat, open, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import type { AppCredentials, Config } from "@sluice/server"
import { Failure, messageOf } from "../process/failure.ts"

/** The default data directory of `sluice dev`. */
export const defaultDataDirectory = ".sluice"

/** The credentials that `sluice dev` saves for the client commands. */
export interface SavedCredentials {
  /** The URL of the last start. */
  readonly url: string
  /** Files of earlier versions have no client id and secret. */
  readonly app: Omit<AppCredentials, "client_id" | "client_secret"> &
    Partial<Pick<AppCredentials, "client_id" | "client_secret">>
  readonly operator_token: string
}

/**
 * The directory of the credentials file. The credentials of a database have their own directory, next to those of an
 * embedded store.
 */
export function credentialsDirectory({ data, database }: Pick<Config, "data" | "database">): string {
  return database === undefined ? data : join(data, databaseName)
}

const databaseName = "database"

const pathIn = (dataDirectory: string): string => join(dataDirectory, "credentials.json")

/** Credentials with the file that has them. */
export interface FoundCredentials extends SavedCredentials {
  readonly file: string
}

/** The credentials in a data directory; `undefined` when it has none. */
export async function readCredentials(dataDirectory: string): Promise<FoundCredentials | undefined> {
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
    throw new Failure(`${path} is not a valid credentials file of \`sluice dev\`.`, [
      "Delete it and restart `sluice dev`.",
    ])
  }
  return { ...value, file: path }
}

/** Facts about the system that a search for credentials needs. */
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
 * The credentials in the default data directory of `from` or of its nearest parent on the same file system, as git finds
 * a repository; the most recent ones if both an embedded store and a database have some. Throws `Failure` for a directory
 * or file of another user, which could redirect requests to that user's server.
 */
export async function findCredentials(
  from: string,
  { userId, fileSystemOf } = thisSystem,
): Promise<FoundCredentials | undefined> {
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
 * When the credentials of a directory were written; 0 when it has none, and greater than 0 when it cannot be read.
 * `directories` are the directory and those parents whose owner is checked too.
 */
async function writtenAtMs(directories: readonly [string, ...string[]], userId: number | undefined): Promise<number> {
  const [own] = directories
  let atMs = 1
  for (const path of [pathIn(own), ...directories]) {
    // The owner of a symbolic link itself is checked: the owner chose its target.
    const found = await lstat(path).catch((error: NodeJS.ErrnoException) => error)
    if (found instanceof Error) {
      if (found.code === "ENOENT" || found.code === "ENOTDIR") return 0
    } else if (userId !== undefined && found.uid !== userId) {
      throw new Failure(`${path} belongs to another user.`, [`If you trust it, use --data ${own}`])
    } else if (path === pathIn(own)) atMs = found.mtimeMs
  }
  return atMs
}

/**
 * Creates the directory of the credentials file. Throws `ConfigError` when it cannot be created or belongs to another
 * user.
 */
export async function ensureCredentialsDirectory(config: Pick<Config, "data" | "database">): Promise<void> {
  await ensureDirectories([config.data, credentialsDirectory(config)])
}

async function ensureDirectories(directories: readonly string[]): Promise<void> {
  // Loaded here, since only commands that run a server write credentials.
  const { ensureOwnDirectory } = await import("@sluice/server")
  for (const directory of directories) ensureOwnDirectory(directory)
}

/** Writes the credentials atomically, readable by their owner only. */
export async function writeCredentials(dataDirectory: string, credentials: SavedCredentials): Promise<string> {
  const path = pathIn(dataDirectory)
  // An unpredictable name, and never an existing file or link.
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

/** The text of a regular file. Anything else is rejected: reading a FIFO would block. */
async function readOwnFile(path: string): Promise<string> {
  const { O_RDONLY, O_NONBLOCK } = constants
  const handle = await open(path, O_RDONLY | O_NONBLOCK)
  try {
    if (!(await handle.stat()).isFile()) throw new Error("it is not a regular file")
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
