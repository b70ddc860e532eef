import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { AppCredentials } from "@sluice/server"
import { Failure } from "./failure.ts"

/** Where `sluice dev` keeps everything unless told otherwise. */
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
    text = await readFile(path, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw new Failure(`${path} cannot be read.`, [], { cause: error })
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
export async function writeCredentials(
  dataDirectory: string,
  credentials: SavedCredentials,
): Promise<string> {
  const path = pathIn(dataDirectory)
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 })
  const draft = `${path}.${String(process.pid)}`
  await writeFile(draft, `${JSON.stringify(credentials, undefined, 2)}\n`, { mode: 0o600 })
  await rename(draft, path)
  return path
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
