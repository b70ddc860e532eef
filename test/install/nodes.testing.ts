/** Nodes of other versions than the project's own, and commands that run under one of them. */
import { execFile, spawn, type ChildProcessWithoutNullStreams } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { delimiter, dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

/** The root of the repository. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url))

/** The Node of this process is the project's own. */
const ownMajor = Number(process.versions.node.split(".")[0])

/** The path of a Node of this major version: from npm, kept in the cache of `node_modules`. */
export async function nodeOf(major: number): Promise<string> {
  if (major === ownMajor) return process.execPath
  const system = process.platform === "win32" ? "win" : process.platform
  const name = `node-${system === "darwin" && process.arch === "arm64" ? "bin-" : ""}${system}-${process.arch}`
  const directory = join(root, "node_modules/.cache/sluice-nodes", String(major))
  const node = join(directory, "node_modules", name, "bin", "node")
  if (!existsSync(node)) {
    await mkdir(directory, { recursive: true })
    await writeFile(join(directory, "package.json"), "{}\n")
    await promisify(execFile)("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", `${name}@${major}`], {
      cwd: directory,
    })
  }
  return node
}

/** How a command ended. */
export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The environment of a user who has installed this Node, and nothing of this repository. */
function environmentOf(node: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(SLUICE_|NODE_|npm_|VITEST|INIT_CWD)/.test(name))
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((entry) => !entry.includes("node_modules"))
  // npm has warnings of its own about the settings of a machine.
  return { ...Object.fromEntries(own), PATH: [dirname(node), ...path].join(delimiter), npm_config_loglevel: "error" }
}

/** A command that runs. Disposing of it ends it as Ctrl-C does, and waits for that. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams
}

/** Starts a command that runs until it is ended. */
export function startUnder(node: string, cwd: string, command: string, ...args: readonly string[]): Running {
  // npx, its shell and the program get the signals of the terminal together.
  const child = spawn(command, args, { cwd, env: environmentOf(node), detached: true })
  const closed = once(child, "close")
  return {
    child,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGINT")
      // Unread output would keep it from closing.
      child.stdout.resume()
      child.stderr.resume()
      await closed
    },
  }
}

/** Runs a command to its end. */
export async function runUnder(node: string, cwd: string, command: string, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(command, args, { cwd, env: environmentOf(node), stdio: ["ignore", "pipe", "pipe"] })
  let stdout = ""
  let stderr = ""
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()))
  const [status] = (await once(child, "close")) as [number | null]
  return { status, stdout, stderr }
}

/** The output of `sluice dev --json`. */
interface Ready {
  readonly url: string
  readonly operator_token: string
  readonly console_url: string
  readonly app: { readonly bearer_token: string }
}

/** A `npx sluice dev` that is ready. */
export interface Dev extends Running {
  readonly ready: Ready
}

/** Starts `npx sluice dev` in a directory in which `sluice` is installed. */
export async function devUnder(node: string, cwd: string, data: string): Promise<Dev> {
  const dev = startUnder(node, cwd, "npx", "sluice", "dev", "--json", "--port", "0", "--data", data)
  dev.child.stderr.pipe(process.stderr)
  const first = await Promise.race([once(createInterface(dev.child.stdout), "line"), once(dev.child, "close")])
  if (typeof first[0] !== "string") throw new Error(`sluice dev has ended with ${String(first[0])}.`)
  return { ...dev, ready: JSON.parse(first[0]) as Ready }
}
