import { randomUUID } from "node:crypto"
import { constants, open, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
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
