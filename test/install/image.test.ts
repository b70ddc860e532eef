/** The image, as far as it can be built without Docker: its Dockerfile step by step, and what comes out of it, run. */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { temporaryDirectory, type TemporaryDirectory } from "../support/temporary-directory.testing.ts"
import { buildImage, filesOf, idOf, inStage, type Stage } from "./dockerfile.testing.ts"
import { root } from "./nodes.testing.ts"

let directory: TemporaryDirectory
let image: Stage

beforeAll(async () => {
  directory = await temporaryDirectory()
  // The user of the image has to get to it.
  chmodSync(directory.path, 0o755)
  image = buildImage(root, directory.path)
})

afterAll(() => directory.remove())

/** Starts words as a container would: as the image's user, with its environment and nothing else. */
function start(words: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const [command = "", ...args] = words.map((word) => inStage(image, word))
  const own = Object.fromEntries(Object.entries(image.env).map(([name, value]) => [name, inStage(image, value)]))
  const user = process.getuid?.() === 0 ? { uid: idOf(image.user), gid: idOf(image.user) } : {}
  return spawn(command, args, {
    cwd: join(image.root, image.workdir),
    // Its root may be read-only, and there may be no /tmp.
    env: { ...own, ...env, PATH: `${image.root}/usr/local/bin:/usr/bin:/bin`, TMPDIR: "/nowhere" },
    stdio: ["ignore", "pipe", "inherit"],
    ...user,
  })
}

async function ended(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = start(words, env)
  let stdout = ""
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()))
  const [status] = (await once(child, "close")) as [number | null]
  return { status, stdout }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

test("the image is built on the Node that the tests run on", () => {
  expect(image.base).toBe(`node:${process.versions.node}-bookworm-slim`)
})

test("the image holds the compiled program, and neither sources, tests, compilers nor npm", () => {
  const files = filesOf(image)
  expect(files).toContain("opt/sluice/packages/sluice/dist/sluice.js")
  expect(files.filter((file) => file.startsWith("opt/sluice/packages/") && /(?<!\.d)\.ts$/.test(file))).toEqual([])
  const tools =
    /(^|\/)(node_modules|bin)\/(npm|npx|corepack|typescript|tsc|vite|vitest|rolldown|esbuild|oxlint|playwright-core)(\/|$)/
  expect(files.filter((file) => tools.test(file))).toEqual([])
  expect(existsSync(join(image.root, "usr/local/lib/node_modules"))).toBe(false)
})

test("the image serves as a user who may write the volume alone, is healthy, and ends when stopped", async () => {
  expect(image.user).toBe("node")
  expect(image.volumes).toEqual(["/data"])
  const writable = await ended(["find", image.root, "-writable", "-not", "-type", "l"])
  if (process.getuid?.() === 0) expect(writable.stdout).toBe(`${join(image.root, "data")}\n`)
  const port = { SLUICE_PORT: String(await freePort()) }
  const server = start([...image.entrypoint, ...image.command], port)
  const closed = once(server, "close")
  await expect.poll(async () => (await ended(image.healthcheck, port)).status).toBe(0)
  // `docker run … app create` next to the server, on the same volume.
  const created = await ended([...image.entrypoint, "app", "create", "my app"])
  expect([created.status, created.stdout]).toEqual([0, expect.stringMatching(/bearer/i)])
  server.kill("SIGTERM")
  expect(await closed).toEqual([0, null])
  expect((await ended(image.healthcheck, port)).status).toBe(1)
})
