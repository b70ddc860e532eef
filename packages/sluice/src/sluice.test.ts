/** The command as a process: what it loads, which Node runs it, and outputs that take nothing. */
import { temporaryDirectory } from "../../../test/support/temporary-directory.testing.ts"
import { execFile, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { copyFile, mkdir, open, readdir, readFile, writeFile } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, test } from "vitest"

const bin = fileURLToPath(new URL("../bin/sluice.js", import.meta.url))
const entry = fileURLToPath(new URL("sluice.ts", import.meta.url))

/** The files of this repository that the command loads. */
async function loaded(...args: readonly string[]): Promise<readonly string[]> {
  await using directory = await temporaryDirectory()
  const env = { ...process.env, NODE_V8_COVERAGE: directory.path }
  await promisify(execFile)(process.execPath, [bin, ...args], { env })
  const reports = await readdir(directory.path)
  expect(reports).toHaveLength(1)
  const report = await readFile(join(directory.path, reports[0] ?? ""), "utf8")
  const { result } = JSON.parse(report) as { result: readonly { url: string }[] }
  const own = result.filter(({ url }) => !url.includes("/node_modules/"))
  return own.flatMap(({ url }) => /\/packages\/(.+)$/.exec(url)?.[1] ?? [])
}

test("help loads no command, and the help of a command loads neither server nor language", async () => {
  const asked = [["--help"], ["serve", "--help"], ["rules", "--help"]]
  const [all = [], serve = [], rules = []] = await Promise.all(asked.map((args) => loaded(...args)))
  expect(all).toContain("sluice/src/program.ts")
  expect(all.filter((file) => !/^sluice\/(?:bin|src|src\/process|src\/terminal)\/[\w-]+\.[tj]s$/.test(file))).toEqual(
    [],
  )
  expect(serve).toContain("sluice/src/commands/serve.ts")
  const ofOthers = [...serve, ...rules].filter((file) => !file.startsWith("sluice/"))
  expect(ofOthers).toContain("server/src/config.ts")
  // The settings, and what reads the text of some.
  const ofSettings =
    /^(api\/src\/(?:limits|limit-profiles)|rules\/src\/language\/near-miss|server\/src\/config|server\/src\/runtime\/(?:outbound\/)?[\w-]+)\.ts$/
  expect(ofOthers.filter((file) => !ofSettings.test(file))).toEqual([])
  expect(ofOthers).not.toContain("server/src/runtime/events/recorded-events.ts")
  expect(rules).toContain("sluice/src/commands/rules.ts")
})

const needed = /^error: Sluice needs Node 24 or newer, and this is \d+\.\d+\.\d+\. .+\n$/

/** How the command ends under a Node, with these options of Node. */
async function under(node: string, ...options: readonly string[]): Promise<{ code: number; stderr: string }> {
  try {
    const { stderr } = await promisify(execFile)(node, [...options, bin, "--version"])
    return { code: 0, stderr }
  } catch (error) {
    return error as { code: number; stderr: string }
  }
}

test("an older Node prints which version is needed, in a line", async () => {
  const older = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'22.3.0'}})"
  const outcome = await under(process.execPath, "--import", `data:text/javascript,${older}`)
  expect(outcome).toMatchObject({ code: 1, stderr: expect.stringMatching(needed) })
  expect(await under(process.execPath)).toEqual({ code: 0, stderr: "" })
})

test("an older Node of this machine, if it has one, prints the same", async (context) => {
  const nodes = (process.env["PATH"] ?? "").split(delimiter).map((directory) => join(directory, "node"))
  const others = nodes.filter((node) => !node.includes("node_modules") && existsSync(node))
  const versions = await Promise.all(
    others.map(async (node) => (await promisify(execFile)(node, ["--version"])).stdout),
  )
  const older = others.find((_, at) => Number(/^v(\d+)/.exec(versions[at] ?? "")?.[1]) < 24)
  if (older === undefined) return context.skip("there is no older Node on the PATH")
  expect(await under(older)).toMatchObject({ code: 1, stderr: expect.stringMatching(needed) })
})

/** Runs the bin as that of a package whose program prints where compiled code is kept, for its threads too. */
async function keptBy(directory: string, variables: NodeJS.ProcessEnv = {}): Promise<string> {
  await mkdir(join(directory, "bin"))
  await mkdir(join(directory, "src"))
  await copyFile(bin, join(directory, "bin/sluice.js"))
  await writeFile(join(directory, "package.json"), '{"type":"module"}')
  await writeFile(join(directory, "src/sluice.ts"), "console.log(process.env.NODE_COMPILE_CACHE)\n")
  const { NODE_COMPILE_CACHE: _, ...others } = process.env
  const env = { ...others, ...variables }
  return (await promisify(execFile)(process.execPath, [join(directory, "bin/sluice.js")], { env })).stdout.trim()
}

test("Node's compile cache is kept within the package", async () => {
  await using directory = await temporaryDirectory()
  const kept = join(directory.path, "node_modules/.cache/compiled")
  expect(await keptBy(directory.path)).toBe(kept)
  const files = await readdir(kept, { recursive: true, withFileTypes: true })
  expect(files.filter((file) => file.isFile())).not.toEqual([])
})

test("Node's compile cache is kept in the directory that the environment names", async () => {
  await using directory = await temporaryDirectory()
  const elsewhere = join(directory.path, "elsewhere")
  expect(await keptBy(directory.path, { NODE_COMPILE_CACHE: elsewhere })).toBe(elsewhere)
  expect(existsSync(join(directory.path, "node_modules"))).toBe(false)
})

test("a package that cannot be written keeps no compile cache, and runs", async () => {
  await using directory = await temporaryDirectory()
  await writeFile(join(directory.path, "node_modules"), "")
  expect(await keptBy(directory.path)).toBe("undefined")
})

test.runIf(existsSync("/dev/full"))("a full disk behind standard output is reported in a line", async () => {
  await using full = await open("/dev/full", "w")
  const outcome = spawnSync(process.execPath, [entry, "--help"], { stdio: ["ignore", full.fd, "pipe"] })
  expect(outcome).toMatchObject({ status: 1 })
  expect(String(outcome.stderr)).toBe("error: Standard output cannot be written: no space is left.\n")
})
