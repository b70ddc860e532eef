import { randomUUID } from "node:crypto"
import { constants, lstat, open, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import type { AppCredentials } from "@sluice/server"
import { Failure, messageOf } from "./failure.ts"

/** Where `sluice dev` keeps everything by default. */
export const defaultDataDirectory = ".sluice"

/** What `sluice dev` leaves for the client commands. */
export interface SavedCredentials {
  /** Where the server listened last. */
  readonly url: string
  readonly app: AppCredentials
  readonly operator_token: string
}

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
 * the root of the file system that `from` is on, as git finds a repository. Throws `Failure` for a directory or file that
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
    if (await hasOwnCredentials(data, userId)) return readCredentials(data)
    const parent = dirname(directory)
    if (parent === directory || (await fileSystemOf(parent)) !== fileSystem) return undefined
  }
}

/** Whether a data directory has credentials, or may have them and cannot be read. */
async function hasOwnCredentials(data: string, userId: number | undefined): Promise<boolean> {
  for (const path of [pathIn(data), data]) {
    // Of a symbolic link its own owner counts: who made it chose where it leads.
    const found = await lstat(path).catch((error: NodeJS.ErrnoException) => error)
    if (found instanceof Error) {
      if (found.code === "ENOENT" || found.code === "ENOTDIR") return false
    } else if (userId !== undefined && found.uid !== userId) {
      throw new Failure(`${path} belongs to another user, and is not used.`, [
        `If you trust it, name it: --data ${data}`,
      ])
    }
  }
  return true
}

/** Puts credentials into a data directory, for its owner's eyes only. There is never a half-written file. */
export async function writeCredentials(dataDirectory: string, credentials: SavedCredentials): Promise<string> {
  const path = pathIn(dataDirectory)
  // Nobody can know the name, and a file or link that has it all the same is not written to.
  const draft = `${path}.${randomUUID()}`
  try {
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
