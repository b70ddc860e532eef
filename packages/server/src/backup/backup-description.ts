/** The file that describes a backup, next to it. */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { ConfigError } from "../runtime/config-error.ts"

/** Its name. */
export const descriptionName = "backup.json"

/** The description of a backup. */
export interface BackupDescription {
  /** The moment that it is of, ISO 8601: what was acknowledged before it is in it. */
  readonly made_at: string
  /** Size of the store's file. */
  readonly bytes: number
  /** SHA-256 of the store's file, in hexadecimal digits. */
  readonly sha256: string
  readonly has_master_key: boolean
}

/** Largest description. Ours: a hundred times what is written. */
const charactersMax = 20_000

/** The description in a directory; `undefined` when it has none. Throws `ConfigError` for one that cannot be read. */
export async function readDescription(directory: string): Promise<BackupDescription | undefined> {
  const file = join(directory, descriptionName)
  let text: string
  try {
    text = await readFile(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw new ConfigError(`${file} cannot be read: ${(error as Error).message}.`, { cause: error })
  }
  const description = text.length > charactersMax ? undefined : parsed(text)
  if (description !== undefined) return description
  throw new ConfigError(`${file} is not what \`sluice backup\` writes. Use another backup.`)
}

function parsed(text: string): BackupDescription | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Not JSON is not a description: the caller says so.
    return undefined
  }
  if (typeof value !== "object" || value === null) return undefined
  const { made_at, bytes, sha256, has_master_key } = value as Readonly<Record<string, unknown>>
  const isWhole =
    typeof made_at === "string" &&
    !Number.isNaN(Date.parse(made_at)) &&
    Number.isSafeInteger(bytes) &&
    typeof sha256 === "string" &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    typeof has_master_key === "boolean"
  return isWhole ? { made_at, bytes: bytes as number, sha256, has_master_key } : undefined
}

/** The SHA-256 of a file, in hexadecimal digits. */
export async function sha256Of(file: string): Promise<string> {
  const sum = createHash("sha256")
  await pipeline(createReadStream(file, { highWaterMark: 1_048_576 }), sum)
  return sum.digest("hex")
}
