import { spawnSync } from "node:child_process"
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run, startDev, type DevServer, type Run, type Surroundings } from "../command.testing.ts"

const resources = new AsyncDisposableStack()
let dev: DevServer
let data: string

beforeAll(async () => {
  data = resources.use(await temporaryDirectory()).path
  dev = resources.use(await startDev(data))
})
afterAll(() => resources.disposeAsync())

/** A user without contexts. */
async function newUser() {
  const home = await temporaryDirectory()
  const sluice = (args: readonly string[], { env, ...more }: Surroundings = {}): Promise<Run> =>
    run(args, { cwd: home.path, env: { XDG_CONFIG_HOME: home.path, ...env }, ...more })
  const login = (name: string, input = dev.ready.app.bearer_token, url = dev.ready.url): Promise<Run> =>
    sluice(["login", name, "--url", url], { input: `${input}\n` })
  return {
    sluice,
    login,
    home: home.path,
    directory: join(home.path, "sluice"),
    fileOf: (name: string) => join(home.path, "sluice", "contexts", `${name}.json`),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  }
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

test("a login saves a private file, and later commands use its server and token", async () => {
  await using user = await newUser()
  const { status, stdout } = await user.login("work")
  expect(status).toBe(0)
  expect(stdout).toContain(`${dev.ready.url}, with a token of the app default (${dev.ready.app.application_id})`)
  expect(stdout).not.toContain(dev.ready.app.bearer_token)
  for (const one of [user.directory, join(user.directory, "contexts")]) expect(await modeOf(one)).toBe(0o700)
  for (const one of [user.fileOf("work"), join(user.directory, "current")]) expect(await modeOf(one)).toBe(0o600)
  expect(await user.sluice(["rules", "list", "--json"])).toMatchObject({ status: 0, stdout: "[]\n" })
})

test("contexts are listed, chosen and deleted", async () => {
  await using user = await newUser()
  await writeFile(join(user.home, "token"), dev.ready.operator_token)
  await user.login("work")
  await user.sluice(["login", "ops", "--url", dev.ready.url, "--token-file", "token"])
  expect((await user.sluice(["use"])).stdout).toMatch(
    /^ +NAME +TOKEN +URL\n\* +ops +operator +http.*\n +work +app +http/,
  )
  expect((await user.sluice(["sources", "list"])).status).toBe(0)
  expect((await user.sluice(["use", "work"])).status).toBe(0)
  const refused = await user.sluice(["sources", "list"])
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("needs a token of an operator") })
  expect((await user.sluice(["sources", "list", "--context", "ops"])).status).toBe(0)
  expect((await user.sluice(["sources", "list"], { env: { SLUICE_CONTEXT: "ops" } })).status).toBe(0)
  expect((await user.sluice(["use", "other"])).stderr).toContain("There is no context other.")
  expect((await user.sluice(["logout", "work"])).status).toBe(0)
  expect((await user.sluice(["logout", "work"])).status).toBe(1)
  expect((await user.sluice(["rules", "list"])).stderr).toContain("No token found.")
  await user.sluice(["use", "ops"])
  await user.sluice(["use", "--none"])
  expect(JSON.parse((await user.sluice(["use", "--json"])).stdout)).toEqual([
    { name: "ops", url: dev.ready.url, kind: "operator", is_current: false },
  ])
})

test("a token that the server does not know is not saved", async () => {
  await using user = await newUser()
  const { status, stderr } = await user.login("work", "wrong")
  expect([status, stderr]).toEqual([1, expect.stringContaining("does not know the token of standard input")])
  expect((await user.login("work", "")).stderr).toContain("The token is empty.")
  expect(await readdir(user.home)).toEqual([])
})

test("a token of a program that sends posts may be saved", async () => {
  await using user = await newUser()
  const { stdout } = await run(["token", "create", "--kind", "ingest", "--data", data])
  expect(await user.login("sender", stdout.trim())).toMatchObject({ status: 0 })
  expect(JSON.parse((await user.sluice(["use", "--json"])).stdout)).toMatchObject([{ kind: "other" }])
})

test.each(["../x", "", ".", "a/b", "x".repeat(200), "a\u001b[31m"])("the name %j is refused", async (name) => {
  await using user = await newUser()
  const args = [
    ["login", name, "--url", dev.ready.url],
    ["use", name],
    ["logout", name],
    ["rules", "list", "--context", name],
  ]
  for (const one of args) {
    const { status, stderr } = await user.sluice(one, { input: dev.ready.app.bearer_token })
    expect([status, stderr]).toEqual([1, expect.stringContaining("This is not the name of a context.")])
  }
  expect(await readdir(user.home)).toEqual([])
})

test("the token of a context goes to no other server, and to none that another directory names", async () => {
  await using user = await newUser()
  await user.login("work")
  const other = "http://127.0.0.1:1"
  for (const args of [["--url", other], []]) {
    const { status, stderr } = await user.sluice(["rules", "list", ...args], { env: { SLUICE_URL: other } })
    expect([status, stderr]).toEqual([1, expect.stringContaining("its token is not sent to another server")])
  }
  expect((await user.sluice(["rules", "list", "--url", `${dev.ready.url}/`])).status).toBe(0)
  await mkdir(join(user.home, ".sluice"))
  const saved = await readFile(join(data, "credentials.json"), "utf8").catch(() =>
    readFile(join(data, "database", "credentials.json"), "utf8"),
  )
  const ofDev = { ...(JSON.parse(saved) as object), url: other }
  await writeFile(join(user.home, ".sluice", "credentials.json"), JSON.stringify(ofDev))
  expect((await user.sluice(["rules", "list"])).stderr).toContain(other)
  expect((await user.sluice(["rules", "list", "--context", "work"])).status).toBe(0)
})

test("an unknown token of a context is reported with the context's name", async () => {
  await using user = await newUser()
  await user.login("work")
  const text = await readFile(user.fileOf("work"), "utf8")
  await writeFile(user.fileOf("work"), text.replace(dev.ready.app.bearer_token, "revoked"))
  expect((await user.sluice(["rules", "list"])).stderr).toContain("does not know the token of the context work.")
})

test("a link, a FIFO or a damaged file in the place of a context is refused, and a login replaces it", async () => {
  await using user = await newUser()
  await user.login("work")
  const file = user.fileOf("work")
  const outside = join(user.home, "outside")
  await writeFile(outside, await readFile(file))
  const places: readonly (readonly [() => Promise<unknown>, string])[] = [
    [() => symlink(outside, file), "it is a symbolic link"],
    [async () => spawnSync("mkfifo", [file]), "it is not a regular file"],
    [() => writeFile(file, "{}"), "is not a valid file of a context"],
  ]
  for (const [place, reason] of places) {
    await rm(file)
    await place()
    expect((await user.sluice(["rules", "list"])).stderr).toContain(reason)
    expect((await user.login("work")).status).toBe(0)
    expect((await stat(file)).isFile()).toBe(true)
  }
  expect(await readdir(join(user.directory, "contexts"))).toEqual(["work.json"])
})

test("a directory that is a link is refused", async () => {
  await using user = await newUser()
  await mkdir(join(user.home, "outside"))
  await symlink(join(user.home, "outside"), user.directory)
  expect((await user.login("work")).stderr).toContain("is not a directory.")
  expect(await readdir(join(user.home, "outside"))).toEqual([])
})

test("logins at the same time are all saved", async () => {
  await using user = await newUser()
  const { writeContext, chooseContext, contextNames, currentContextName } =
    await import("../connection/context-files.ts")
  const names = Array.from({ length: 20 }, (_, at) => `c${String(at).padStart(2, "0")}`)
  await Promise.all(
    names.map(async (name) => {
      await writeContext(user.directory, { name, url: dev.ready.url, token: "t", kind: "app" })
      await chooseContext(user.directory, name)
    }),
  )
  expect(await contextNames(user.directory)).toEqual(names)
  expect(names).toContain(await currentContextName(user.directory))
})
