/**
 * Does what a Dockerfile says, without Docker: each stage is a directory that stands for the root of its file system.
 * `RUN` runs on this machine, with the absolute paths of the stage moved into that directory; what a base image brings
 * is Node and npm. It runs the steps of our Dockerfile, and throws on any other.
 */
import { spawnSync } from "node:child_process"
import { chownSync, chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs"
import { dirname, join, relative } from "node:path"

interface Instruction {
  readonly name: string
  readonly text: string
}

/** A built stage, and its statements about its containers. */
export interface Stage {
  readonly base: string
  /** The directory that stands for `/`. */
  readonly root: string
  workdir: string
  user: string
  readonly env: Record<string, string>
  readonly volumes: string[]
  entrypoint: readonly string[]
  command: readonly string[]
  healthcheck: readonly string[]
}

/** Folders of a stage that its steps may name. */
const stagePaths = /(?<=^|[\s=])\/(?=(?:usr\/local|opt|src|data)\b)/g

/** `node` in the images of Node. */
const userIds: Readonly<Record<string, number>> = { node: 1000 }

/** The user's id, of one of those that the base images have. */
export function idOf(user: string): number {
  const id = userIds[user]
  if (id === undefined) throw new Error(`No id is known for the user ${user}.`)
  return id
}

/** The path of a stage on this machine. */
export function inStage({ root }: Stage, text: string): string {
  return text.replaceAll(stagePaths, `${root}/`)
}

/** Builds all stages of the Dockerfile in `context`, in directories below `work`, and returns the last one. */
export function buildImage(context: string, work: string): Stage {
  const stages = new Map<string, Stage>()
  const variables: Record<string, string> = {}
  let stage: Stage | undefined
  for (const { name, text } of instructions(readFileSync(join(context, "Dockerfile"), "utf8"))) {
    const given = text.replaceAll(/\$\{(\w+)\}/g, (whole, variable: string) => variables[variable] ?? whole)
    if (name === "ARG") {
      const [variable = "", value = ""] = text.split("=")
      variables[variable] = value
    } else if (name === "FROM") {
      const [base = "", , as = "last"] = given.split(" ")
      stage = newStage(base, join(work, as))
      stages.set(as, stage)
    } else if (stage === undefined) {
      throw new Error(`${name} stands before FROM.`)
    } else {
      apply(stage, { name, text: given }, { context, stages })
    }
  }
  if (stage === undefined) throw new Error("The Dockerfile has no stage.")
  return stage
}

function instructions(text: string): readonly Instruction[] {
  const lines = text.replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\\\n\s*/g, "")
  return lines
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => ({ name: line.slice(0, line.indexOf(" ")), text: line.slice(line.indexOf(" ") + 1).trim() }))
}

/** A directory with what an image of Node holds, as far as the steps need it. */
function newStage(base: string, root: string): Stage {
  if (!/^node:[\d.]+-bookworm-slim$/.test(base)) throw new Error(`Nothing is known of the image ${base}.`)
  const npm = spawnSync("sh", ["-c", "readlink -f $(command -v npm)"], { encoding: "utf8" }).stdout.trim()
  mkdirSync(join(root, "usr/local/bin"), { recursive: true })
  mkdirSync(join(root, "usr/local/lib/node_modules"), { recursive: true })
  cpSync(process.execPath, join(root, "usr/local/bin/node"))
  symlinkSync(dirname(dirname(npm)), join(root, "usr/local/lib/node_modules/npm"))
  symlinkSync(npm, join(root, "usr/local/bin/npm"))
  return {
    base,
    root,
    workdir: "/",
    user: "root",
    env: {},
    volumes: [],
    entrypoint: [],
    command: [],
    healthcheck: [],
  }
}

interface Surroundings {
  readonly context: string
  readonly stages: ReadonlyMap<string, Stage>
}

function apply(stage: Stage, { name, text }: Instruction, surroundings: Surroundings): void {
  switch (name) {
    case "WORKDIR":
      stage.workdir = text
      mkdirSync(join(stage.root, text), { recursive: true })
      return
    case "COPY":
      return copy(stage, text, surroundings)
    case "RUN":
      return run(stage, text)
    case "ENV":
      for (const [, key = "", value = ""] of text.matchAll(/(\w+)=(\S+)/g)) stage.env[key] = value
      return
    case "USER":
      stage.user = text
      return
    case "VOLUME":
      stage.volumes.push(text)
      return
    case "EXPOSE":
      return
    case "HEALTHCHECK":
      stage.healthcheck = JSON.parse(text.slice(text.indexOf("CMD ") + 4)) as string[]
      return
    case "ENTRYPOINT":
      stage.entrypoint = JSON.parse(text) as string[]
      return
    case "CMD":
      stage.command = JSON.parse(text) as string[]
      return
    default:
      throw new Error(`${name} is not understood.`)
  }
}

function run(stage: Stage, text: string): void {
  const env = {
    ...stage.env,
    HOME: stage.root,
    PATH: `${stage.root}/usr/local/bin:/usr/bin:/bin`,
    npm_config_prefer_offline: "true",
    npm_config_cache: npmCache(),
  }
  const cwd = join(stage.root, stage.workdir)
  const { status, stdout, stderr } = spawnSync("sh", ["-c", inStage(stage, text)], { cwd, env, encoding: "utf8" })
  if (status !== 0) throw new Error(`RUN ${text}: ${stdout}${stderr}`)
}

/** Packages that this machine has need not be fetched again. */
function npmCache(): string {
  return spawnSync("npm", ["config", "get", "cache"], { encoding: "utf8" }).stdout.trim()
}

function copy(stage: Stage, text: string, { context, stages }: Surroundings): void {
  const words = text.split(" ")
  const flags = new Map(
    words
      .filter((word) => word.startsWith("--"))
      .map((word) => [word.slice(2, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]),
  )
  const [source = "", destination = "", ...more] = words.filter((word) => !word.startsWith("--"))
  if (more.length > 0 || /[*?[]/.test(text)) throw new Error(`COPY ${text} is not understood.`)
  const from = flags.get("from")
  const origin = from === undefined ? context : stages.get(from)?.root
  if (origin === undefined) throw new Error(`COPY ${text}: there is no stage ${String(from)}.`)
  const to = join(stage.root, destination.startsWith("/") ? "" : stage.workdir, destination)
  const isIgnored = from === undefined ? ignored(context) : () => false
  cpSync(join(origin, source), to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !isIgnored(relative(origin, path)),
  })
  const owner = flags.get("chown")?.split(":")[0]
  if (owner !== undefined && process.getuid?.() === 0) chownSync(to, idOf(owner), idOf(owner))
  const mode = flags.get("chmod")
  if (mode !== undefined) chmodSync(to, Number.parseInt(mode, 8))
}

/** Whether `.dockerignore` leaves a path out: the last line that fits it, or a folder above it, decides. */
function ignored(context: string): (path: string) => boolean {
  const lines = readFileSync(join(context, ".dockerignore"), "utf8").split("\n")
  const patterns = lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const pattern = line.replace(/^!/, "").replaceAll(/[.+^$(){}|\\]/g, "\\$&")
      const text = pattern.replaceAll(/\*\*\/|\*/g, (star) => (star === "*" ? "[^/]*" : "(?:.*/)?"))
      return { isKept: line.startsWith("!"), fits: new RegExp(`^${text}(?:/|$)`) }
    })
  return (path) => path !== "" && patterns.findLast(({ fits }) => fits.test(path))?.isKept === false
}

/** Every file of a stage, from its root. */
export function filesOf({ root }: Stage): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => statSync(join(root, path)).isFile())
}
