/** `sluice exec` as a process of its own: its command, and what that leaves behind. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmod, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { afterEach, beforeEach, expect, test } from "vitest"
import { cleanEnvironment, program } from "../../../../test/support/sluice-process.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { runProcess, start, type Run } from "../command.testing.ts"

let directory: TemporaryDirectory

beforeEach(async () => {
  directory = await temporaryDirectory()
})

afterEach(() => directory.remove())

/** Runs it with a directory of its own for temporary files, in which nothing is to be left. */
async function exec(...args: readonly string[]): Promise<Run> {
  const ran = await runProcess(["exec", ...args], { cwd: directory.path, env: { TMPDIR: directory.path } })
  expect((await readdir(directory.path)).filter((name) => name.startsWith("sluice-exec-"))).toEqual([])
  return ran
}

const node = (code: string): readonly string[] => ["--", process.execPath, "-e", code]

/** Whether a process runs: a list may still have one that has ended. */
function isRunning(pid: number): boolean {
  const { status, stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" })
  return status === 0 && !stdout.startsWith("Z")
}

/** The numbers in a file that the command has written. */
async function pidsIn(file: string): Promise<readonly number[]> {
  return (await readFile(join(directory.path, file), "utf8")).trim().split("\n").map(Number)
}

test("the command has the server's address and the secrets, and its status is the result", async () => {
  const ran = await exec(
    "--timeout",
    "10m",
    ...node(`
    const { SLUICE_URL: url, SLUICE_TOKEN: token, SLUICE_OPERATOR_TOKEN: operator, ...others } = process.env
    const get = async (path, bearer) => (await fetch(url + path, { headers: { authorization: "Bearer " + bearer } })).status
    const secrets = [others.SLUICE_CONSUMER_SECRET, others.SLUICE_CLIENT_SECRET].every((secret) => secret.length > 20)
    Promise.all([get("/2/tweets/search/stream/rules", token), get("/sluice/v1/sources", operator)]).then((statuses) => {
      console.log(JSON.stringify({ statuses, secrets }))
      process.exit(3)
    })`),
  )
  expect(ran).toMatchObject({ status: 3, stderr: "" })
  expect(JSON.parse(ran.stdout)).toEqual({ statuses: [200, 200], secrets: true })
})

test("the command may start servers of its own", async () => {
  const inner = [...program, "exec", ...node("process.exit(process.env.SLUICE_URL === process.argv[1] ? 1 : 5)")]
  const ran = await exec("--", "sh", "-c", '"$0" "$@" "$SLUICE_URL"', process.execPath, ...inner)
  expect(ran).toMatchObject({ status: 5, stderr: "" })
})

test("what cannot be run has a shell's status, and says what to write", async () => {
  expect(await exec("--", "no-such-command")).toEqual({
    status: 127,
    stdout: "",
    stderr: "error: no-such-command was not found.\n  Write the command behind --, as in: sluice exec -- npm test\n",
  })
  const file = join(directory.path, "plain.txt")
  await writeFile(file, "")
  await chmod(file, 0o600)
  expect(await exec("--", file)).toMatchObject({ status: 126, stderr: expect.stringContaining("cannot be run") })
  expect(await exec()).toMatchObject({ status: 2 })
})

test("a command that is killed has the status of its signal", async () => {
  expect(await exec(...node("process.kill(process.pid, 'SIGKILL')"))).toMatchObject({ status: 137 })
})

test("100 MB of output come through", async () => {
  const ran = await exec(...node("process.stdout.write(Buffer.alloc(100e6, 'a'), () => process.exit(0))"))
  expect({ status: ran.status, length: ran.stdout.length }).toEqual({ status: 0, length: 100_000_000 })
})

test("a command that hangs and hears no SIGTERM is ended with all that it started", async () => {
  const beganAtMs = performance.now()
  const ran = await exec(
    "--timeout",
    "3s",
    "--",
    "bash",
    "-c",
    `trap "" TERM; sleep 1000 & echo $$ $! | tr " " "\\n" > pids; while :; do sleep 1; done`,
  )
  expect(ran).toMatchObject({ status: 124, stderr: "error: The command did not end within 3 s.\n" })
  for (const pid of await pidsIn("pids")) expect(isRunning(pid)).toBe(false)
  console.info(`a command that hangs was ended after ${((performance.now() - beganAtMs) / 1_000).toFixed(1)} s`)
})

test("nothing that the command has left runs on, not even a process that left its group", async () => {
  const ran = await exec(
    ...node(`
    const { spawn } = require("node:child_process")
    const left = [false, true].map((detached) => spawn("sleep", ["1000"], { detached, stdio: "ignore" }))
    for (const child of left) child.unref()
    require("node:fs").writeFileSync("pids", left.map(({ pid }) => pid).join("\\n"))`),
  )
  expect(ran.status).toBe(0)
  for (const pid of await pidsIn("pids")) expect(isRunning(pid)).toBe(false)
})

test("an interruption ends the command and the server", async () => {
  const child = start(
    ["exec", ...node("console.log(process.pid, process.env.SLUICE_URL); setInterval(() => {}, 1e6)")],
    {
      cwd: directory.path,
    },
  )
  const [line] = (await once(createInterface(child.stdout), "line")) as [string]
  const [pid = "", url = ""] = line.split(" ")
  child.kill("SIGTERM")
  expect(await once(child, "close")).toEqual([1, null])
  expect(isRunning(Number(pid))).toBe(false)
  await expect(fetch(url)).rejects.toThrow("fetch failed")
})

test.each(["dev", "exec"])("%s ends with the npm that started it", async (command) => {
  const args =
    command === "dev"
      ? ["dev", "--json", "--port", "0", "--data", join(directory.path, "data")]
      : ["exec", ...node("console.log(process.env.SLUICE_URL); setInterval(() => {}, 1e6)")]
  // As npm does: a shell, which starts the command.
  const shell = spawn("sh", ["-c", '"$0" "$@" & wait', process.execPath, ...program, ...args], {
    env: cleanEnvironment({ npm_command: "exec" }),
    stdio: ["ignore", "pipe", "ignore"],
  })
  const [line] = (await once(createInterface(shell.stdout), "line")) as [string]
  const url = command === "dev" ? (JSON.parse(line) as { url: string }).url : line
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  shell.kill("SIGKILL")
  const isServing = (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      () => true,
      () => false,
    )
  await expect.poll(isServing).toBe(false)
})
