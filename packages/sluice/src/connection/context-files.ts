/**
 * Contexts: servers with a token each, which `sluice login` saves under a name. Each has a file of its own, and the name of
 * the current one is in another file. Every file is replaced as a whole, so logins at the same time lose nothing.
 */
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { chmod, lstat, mkdir, open, readdir, rename, rm, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { Failure, messageOf } from "../process/failure.ts"

/** Whose token a context has; `other` for one that sends posts or acts for a user. */
export type TokenKind = "app" | "operator" | "other"

/** A saved server. */
interface Context {
  readonly url: string
  readonly token: string
  readonly kind: TokenKind
}

/** A context with its name. */
export interface NamedContext extends Context {
  readonly name: string
}

/** The name of a context. It is a file's name, too. Throws `Failure` for any other text. */
export function checkedContextName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name
  throw new Failure("This is not the name of a context.", [
    "Names have 1 to 64 letters, digits, dots, dashes and underscores, and begin with a letter or a digit.",
  ])
}

const suffix = ".json"

const contextsIn = (directory: string): string => join(directory, "contexts")

const currentIn = (directory: string): string => join(directory, "current")

/** The path of a context's file. */
export function contextFile(directory: string, name: string): string {
  return join(contextsIn(directory), `${checkedContextName(name)}${suffix}`)
}

/** The context of this name; `undefined` when there is none. Throws `Failure` when its file cannot be trusted or read. */
export async function readContext(directory: string, name: string): Promise<NamedContext | undefined> {
  const path = contextFile(directory, name)
  const text = await readPrivateFile(path)
  if (text === undefined) return undefined
  const value = parsed(text)
  if (!isContext(value)) {
    throw new Failure(`${path} is not a valid file of a context.`, [`Delete it with \`sluice logout ${name}\`.`])
  }
  const { url, token, kind } = value
  return { name, url, token, kind }
}

/** The names of all contexts, in order. */
export async function contextNames(directory: string): Promise<readonly string[]> {
  const names = await readdir(contextsIn(directory)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return []
    throw new Failure(`${contextsIn(directory)} cannot be read: ${messageOf(error)}.`, [], { cause: error })
  })
  return names
    .filter((name) => name.endsWith(suffix) && !name.startsWith("."))
    .map((name) => name.slice(0, -suffix.length))
    .toSorted()
}

/** The name of the current context; `undefined` when none is chosen. */
export async function currentContextName(directory: string): Promise<string | undefined> {
  const text = await readPrivateFile(currentIn(directory))
  return text === undefined ? undefined : checkedContextName(text.trim())
}

/** Saves a context, readable by its owner only. */
export async function writeContext(directory: string, { name, url, token, kind }: NamedContext): Promise<string> {
  const path = contextFile(directory, name)
  await writePrivateFile(directory, path, `${JSON.stringify({ url, token, kind }, undefined, 2)}\n`)
  return path
}

/** Makes a context the current one, or none. */
export async function chooseContext(directory: string, name: string | undefined): Promise<void> {
  const path = currentIn(directory)
  if (name === undefined) await remove(path)
  else await writePrivateFile(directory, path, `${checkedContextName(name)}\n`)
}

/** Deletes a context. Returns false when there was none. */
export async function removeContext(directory: string, name: string): Promise<boolean> {
  return remove(contextFile(directory, name))
}

async function remove(path: string): Promise<boolean> {
  try {
    await rm(path)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT") return false
    throw new Failure(`${path} cannot be deleted: ${messageOf(error)}.`, [], { cause: error })
  }
}

/** Throws `Failure` for a path of another user, which could redirect requests to that user's server. */
function refuseForeignOwner(path: string, uid: number): void {
  const self = process.getuid?.()
  if (self !== undefined && uid !== self) throw new Failure(`${path} belongs to another user.`)
}

/** Throws `Failure` for a file that other users may read or change: its token is no secret, or its URL is not the user's. */
function refuseOpenFile(path: string, mode: number): void {
  // Windows has no such modes.
  if (process.getuid === undefined || (mode & 0o077) === 0) return
  throw new Failure(`Other users may read or change ${path}.`, [
    `Close it: chmod 600 ${path}`,
    "If others have had access to this machine, revoke its token.",
  ])
}

/** Throws `Failure` for anything but a directory of this user. */
async function mustBeOwnDirectory(path: string): Promise<void> {
  const found = await lstat(path)
  if (!found.isDirectory()) throw new Failure(`${path} is not a directory.`)
  refuseForeignOwner(path, found.uid)
}

/** The text of a regular file that is this user's alone, in a directory of this user; `undefined` when there is none. */
async function readPrivateFile(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants
  try {
    await mustBeOwnDirectory(dirname(path))
    const handle = await open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    try {
      const found = await handle.stat()
      if (!found.isFile()) throw new Error("it is not a regular file")
      refuseForeignOwner(path, found.uid)
      refuseOpenFile(path, found.mode)
      return await handle.readFile("utf8")
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT") return undefined
    const reason = code === "ELOOP" ? "it is a symbolic link" : messageOf(error)
    throw new Failure(`${path} cannot be read: ${reason}.`, [], { cause: error })
  }
}

/** Replaces a file by one with this text. A symbolic link in its place is replaced, not followed. */
async function writePrivateFile(directory: string, path: string, text: string): Promise<void> {
  // An unpredictable name, and never an existing file or link.
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  try {
    for (const one of new Set([directory, dirname(path)])) {
      await mkdir(one, { recursive: true, mode: 0o700 })
      await mustBeOwnDirectory(one)
      await chmod(one, 0o700)
    }
    await writeFile(draft, text, { mode: 0o600, flag: "wx" })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined)
    if (error instanceof Failure) throw error
    throw new Failure(`${path} cannot be written: ${messageOf(error)}.`, [], { cause: error })
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isContext(value: unknown): value is Context {
  const { url, token, kind } = (value ?? {}) as Partial<Context>
  const isKind = kind === "app" || kind === "operator" || kind === "other"
  return typeof url === "string" && typeof token === "string" && isKind
}
