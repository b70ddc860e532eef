import { spawnSync } from "node:child_process"
import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { isInstalled } from "../../../../test/docs/example-program.testing.ts"
import { cleanEnvironment, program } from "../../../../test/support/sluice-process.testing.ts"
import { run, runProcess, startDev, type DevServer, type Run, type Surroundings } from "../command.testing.ts"
import { ctrlC, inTerminal } from "../pseudo-terminal.testing.ts"

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
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("it takes a token of kind operator") })
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
  expect((await user.sluice(["sources", "list"])).stderr).toContain("the context sender may not do this")
  const refused = await user.sluice(["rules", "list"])
  expect(refused.stderr).toContain("The token of the context sender may not do this: it takes a token of kind app")
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

test("the tokens of a development server go to no other server unless its directory is named", async () => {
  await using user = await newUser()
  const directory = join(user.home, ".sluice")
  await mkdir(directory)
  const { url, app, operator } = { url: dev.ready.url, app: dev.ready.app, operator: dev.ready.operator_token }
  await writeFile(join(directory, "credentials.json"), JSON.stringify({ url, app, operator_token: operator }))
  const other = "http://127.0.0.1:1"
  for (const [args, env] of [
    [["rules", "list", "--url", other], {}],
    [["sources", "list"], { SLUICE_URL: other }],
  ] as const) {
    const { status, stderr } = await user.sluice(args, { env })
    expect([status, stderr]).toEqual([1, expect.stringContaining("are not sent to another server")])
  }
  const sameServer = url.replace("127.0.0.1", "localhost")
  expect((await user.sluice(["rules", "list", "--url", sameServer])).status).toBe(0)
  const named = await user.sluice(["rules", "list", "--url", other, "--data", directory])
  expect(named.stderr).toContain(`No response from ${other}`)
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
    [() => writeFile(file, "{}", { mode: 0o600 }), "is not a valid file of a context"],
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

const isRoot = process.getuid?.() === 0

test.runIf(isRoot)("a file or a directory of another user is refused, also to root", async () => {
  await using user = await newUser()
  await user.login("work")
  for (const path of [user.fileOf("work"), join(user.directory, "current"), join(user.directory, "contexts")]) {
    await chown(path, 12_345, 12_345)
    const { status, stderr } = await user.sluice(["rules", "list"])
    expect([status, stderr]).toEqual([1, expect.stringContaining(`${path} belongs to another user.`)])
    await chown(path, 0, 0)
  }
  expect((await user.sluice(["rules", "list"])).status).toBe(0)
  await chown(user.fileOf("work"), 12_345, 12_345)
  expect((await user.login("work")).status).toBe(0)
  expect((await stat(user.fileOf("work"))).uid).toBe(0)
})

test.each(["644", "640", "602"])("a file of mode %s is refused until it is closed or replaced", async (mode) => {
  await using user = await newUser()
  await user.login("work")
  for (const path of [user.fileOf("work"), join(user.directory, "current")]) {
    await chmod(path, mode)
    const { status, stderr } = await user.sluice(["rules", "list"])
    expect([status, stderr]).toEqual([1, expect.stringContaining(`Other users may read or change ${path}.`)])
    expect(stderr).toContain(`chmod 600 ${path}`)
    expect(stderr).not.toContain(dev.ready.app.bearer_token)
    expect((await user.login("work")).status).toBe(0)
    expect(await modeOf(path)).toBe(0o600)
  }
})

/** Runs the command as a user whom the modes of files bind, which for root takes two capabilities less. */
function runBound(args: readonly string[], env: Readonly<Record<string, string>>) {
  const less = "-dac_override,-dac_read_search"
  const bound = isRoot ? ["setpriv", `--bounding-set=${less}`, `--inh-caps=${less}`] : []
  const [file = "", ...rest] = [...bound, process.execPath, ...program, ...args]
  return spawnSync(file, rest, { env: cleanEnvironment(env), encoding: "utf8" })
}

test("a file of mode 000 is reported with the reason, and a logout deletes it", async () => {
  await using user = await newUser()
  const env = { XDG_CONFIG_HOME: user.home }
  await user.login("work")
  await chmod(user.fileOf("work"), 0o000)
  const { status, stderr } = runBound(["rules", "list"], env)
  expect([status, stderr]).toEqual([1, expect.stringContaining(`${user.fileOf("work")} cannot be read: EACCES`)])
  expect(runBound(["logout", "work"], env).status).toBe(0)
  expect((await user.sluice(["use", "--json"])).stdout).toBe("[]\n")
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

test("processes that log in at the same time lose nothing, and each file is of one of them", async () => {
  await using user = await newUser()
  const { url, app, operator_token } = dev.ready
  const logins = [
    ["work", app.bearer_token],
    ["ops", operator_token],
    ["both", app.bearer_token],
    ["both", operator_token],
  ] as const
  const env = { XDG_CONFIG_HOME: user.home }
  const runs = logins.map(([name, token]) => runProcess(["login", name, "--url", url], { env, input: `${token}\n` }))
  expect((await Promise.all(runs)).map(({ status }) => status)).toEqual([0, 0, 0, 0])
  const listed = JSON.parse((await user.sluice(["use", "--json"])).stdout) as readonly Listed[]
  expect(listed.map(({ name }) => name)).toEqual(["both", "ops", "work"])
  expect(listed.slice(1).map(({ kind }) => kind)).toEqual(["operator", "app"])
  expect(listed.filter(({ is_current }) => is_current)).toHaveLength(1)
  const both = JSON.parse(await readFile(user.fileOf("both"), "utf8")) as unknown
  expect([
    { url, token: app.bearer_token, kind: "app" },
    { url, token: operator_token, kind: "operator" },
  ]).toContainEqual(both)
  expect((await readdir(join(user.directory, "contexts"))).toSorted()).toEqual(["both.json", "ops.json", "work.json"])
})

/** A context, as `sluice use --json` lists it. */
interface Listed {
  readonly name: string
  readonly kind: string
  readonly is_current: boolean
}

test.runIf(isInstalled("script", "bsdutils"))("a terminal never shows the token that is typed", async () => {
  await using user = await newUser()
  const login = (name: string) =>
    inTerminal(["login", name, "--url", dev.ready.url], user.home, { XDG_CONFIG_HOME: user.home })
  const token = dev.ready.app.bearer_token
  await using saved = login("work")
  await expect.poll(saved.shown).toContain("Token of work (it is not shown):")
  // A wrong key, and the key that erases it.
  saved.type(`${token.slice(0, 20)}x\u007f${token.slice(20)}\r`)
  expect(await saved.ended).toBe(0)
  expect(saved.shown()).toContain("Saved the context work, now the current one")
  expect(await readFile(user.fileOf("work"), "utf8")).toContain(token)

  await using interrupted = login("other")
  await expect.poll(interrupted.shown).toContain("Token of other (it is not shown):")
  interrupted.type(token + ctrlC)
  expect(await interrupted.ended).toBe(1)
  expect(interrupted.shown()).toContain("Interrupted.")
  expect(await readdir(join(user.directory, "contexts"))).toEqual(["work.json"])
  // Not even a part of it.
  for (const { shown } of [saved, interrupted]) expect(shown()).not.toContain(token.slice(-8))
  for (const { shown } of [saved, interrupted]) expect(shown()).not.toContain(token.slice(0, 20))
})
