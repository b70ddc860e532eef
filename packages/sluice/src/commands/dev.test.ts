import { execFile, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { chown, mkdir, readdir, readFile, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { setTimeout as sleep } from "node:timers/promises"
import { createClient } from "@sluice/client"
import { expect, test } from "vitest"
import { run, start, startDev, type DevServer } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../../../../test/support/webhook-receiver.testing.ts"

test("the ready line has the promised members, alone; the credentials file has them, for its owner alone", async () => {
  await using directory = await temporaryDirectory()
  await using dev = await startDev(directory.path)
  const { event, console_url: consoleUrl, ...credentials } = dev.ready
  expect(event).toBe("ready")
  expect(consoleUrl.replace(/[\w-]{43}$/, "…")).toBe(`${dev.ready.url}/console/sign-in#code=…`)
  expect(credentials).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    app: {
      application_id: expect.stringMatching(/^\d{1,19}$/),
      business_user_id: expect.stringMatching(/^\d{1,19}$/),
      instance_id: expect.stringMatching(/^\d{1,19}$/),
      consumer_key: expect.stringMatching(/^\S+$/),
      consumer_secret: expect.stringMatching(/^\S+$/),
      client_id: expect.stringMatching(/^[\w-]+$/),
      client_secret: expect.stringMatching(/^[\w-]{43}$/),
      bearer_token: expect.stringMatching(/^sluice_app_/),
    },
    operator_token: expect.stringMatching(/^sluice_operator_/),
  })
  const file = join(directory.path, "credentials.json")
  expect(JSON.parse(await readFile(file, "utf8"))).toEqual(credentials)
  expect((await stat(file)).mode & 0o777).toBe(0o600)

  const { port } = new URL(dev.ready.url)
  const elsewhere = join(directory.path, "other")
  const [sameData, samePort] = [
    await run(["dev", "--port", "0", "--data", directory.path]),
    await run(["dev", "--port", port, "--data", elsewhere]),
  ]
  expect(sameData).toMatchObject({ status: 1, stdout: "" })
  expect(sameData.stderr).toContain(`The data directory ${directory.path} is in use by another Sluice process.`)
  expect(samePort).toMatchObject({ status: 1, stdout: "" })
  expect(samePort.stderr).toContain(`error: Another program is listening on 127.0.0.1:${port}.`)
  for (const { stderr } of [sameData, samePort]) expect(stderr).not.toMatch(/^\s+at /m)
  expect(dev.process.isRunning).toBe(true)

  dev.process.end("SIGTERM")
  expect(await dev.process.ended()).toMatchObject({ code: 0, output: "" })
})

test("starts on the same data have the same app; rotated credentials are the next start's, lost ones are the same", async () => {
  await using directory = await temporaryDirectory()
  const credentials = async (before: () => Promise<unknown>): Promise<DevServer["ready"]> => {
    await before()
    await using dev = await startDev(directory.path)
    const links = await fetch(`${dev.ready.url}/sluice/v1/links`, {
      headers: { authorization: `Bearer ${dev.ready.operator_token}` },
    })
    expect(links.status).toBe(200)
    dev.process.end("SIGINT")
    expect((await dev.process.ended()).code).toBe(0)
    return { ...dev.ready, url: "", console_url: "" }
  }
  const first = await credentials(async () => undefined)
  let printed = ""
  const rotated = await credentials(async () => {
    const args = ["app", "rotate", first.app.application_id, "--json", "--data", directory.path]
    printed = (await run(args)).stdout
  })
  expect(rotated).toEqual({ ...first, app: JSON.parse(printed) as unknown })
  expect(rotated.app.bearer_token).not.toBe(first.app.bearer_token)
  expect(await credentials(async () => undefined)).toEqual(rotated)
  const found = await credentials(() => rm(join(directory.path, "credentials.json")))
  expect(found.app).toEqual(rotated.app)
  expect(found.operator_token).not.toBe(first.operator_token)
})

test("`sluice dev` drains under an open stream connection and exits 0", async () => {
  await using directory = await temporaryDirectory()
  await using dev = await startDev(directory.path)
  const headers = {
    authorization: `Bearer ${dev.ready.app.bearer_token}`,
    "content-type": "application/json",
  }
  await fetch(`${dev.ready.url}/2/tweets/search/stream/rules`, {
    method: "POST",
    headers,
    body: '{"add":[{"value":"cat"}]}',
  })
  const stream = await fetch(`${dev.ready.url}/2/tweets/search/stream`, { headers })
  expect(stream.status).toBe(200)
  dev.process.end("SIGTERM")
  // The server writes a disconnect message and ends the stream. The server's tests check the message.
  await stream.text()
  expect((await dev.process.ended()).code).toBe(0)
})

test("the printed curl lines work when pasted, and the README's five minutes after them", async () => {
  await using directory = await temporaryDirectory()
  const child = start(["dev", "--port", "0", "--data", ".sluice"], { cwd: directory.path })
  try {
    let printed = ""
    for await (const chunk of child.stdout) {
      printed += String(chunk)
      if (printed.includes("Ctrl-C stops the server")) break
    }
    const lines = printed.split("\n").filter((line) => line.startsWith("curl "))
    // The option, not any "-N": a random token may hold that too.
    const endless = (line: string) => line.startsWith("curl -N ")
    expect(lines.map(endless)).toEqual([false, false, true, false, false])
    const responses = []
    for (const line of lines) {
      responses.push(
        endless(line)
          ? await firstRecord(line.replace(/^curl/, "exec curl --silent --max-time 15"))
          : (await promisify(execFile)("sh", ["-c", line.replace(/^curl/, "curl --silent --fail")])).stdout,
      )
    }
    const [rules = "", ingest = "", stream = "", posts = "", links = ""] = responses
    expect(JSON.parse(rules)).toMatchObject({ data: [{ tag: "first rule" }] })
    expect(JSON.parse(ingest)).toMatchObject({ accepted: 1, rejected_count: 0 })
    expect(JSON.parse(stream)).toMatchObject({ data: { id: "1" }, matching_rules: [{ tag: "first rule" }] })
    expect(JSON.parse(posts)).toMatchObject({ data: [{ id: "1" }], meta: { result_count: 1 } })
    expect(JSON.parse(links)).toEqual({ data: { links: [] } })

    const [, url = ""] = /is ready at (\S+)/.exec(printed) ?? []
    const shell = await promisify(execFile)("sh", ["-c", readmeMinutes(url)], { cwd: directory.path })
    const [ownRule, ownIngest, ownStream, ownPosts, ownLinks] = shell.stdout
      .split("##\n")
      .map((response) => JSON.parse(response.trim().split("\r\n").at(-1) ?? "") as unknown)
    expect(ownRule).toMatchObject({ data: [{ tag: "herons" }, { value: "egret" }] })
    expect(ownIngest).toMatchObject({ accepted: 1, rejected_count: 0 })
    expect(ownStream).toMatchObject({ data: { id: "1001" }, matching_rules: [{ tag: "herons" }] })
    expect(ownPosts).toMatchObject({ data: [{ id: "1001" }], meta: { result_count: 1 } })
    expect(ownLinks).toEqual({ data: { links: [] } })
  } finally {
    child.kill("SIGKILL")
  }
})

/** The README's commands on a server, with "##" between their responses. The wait for the end of the stream is short. */
function readmeMinutes(url: string): string {
  const readme = readFileSync(new URL("../../../../README.md", import.meta.url), "utf8")
  const [, script = ""] = /```sh\n(export TOKEN=.+?)```/s.exec(readme) ?? []
  expect(script.match(/^curl /gm)).toHaveLength(5)
  return script
    .replaceAll("http://127.0.0.1:8080", url)
    .replace("--max-time 3", "--max-time 1")
    .replaceAll("\n\n", "\necho; echo '##'\n")
    .replace("echo; echo '##'\n", "")
}

/** The first line with anything in it that a command without an end prints. */
async function firstRecord(command: string): Promise<string> {
  const shell = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] })
  try {
    for await (const line of createInterface(shell.stdout)) if (line !== "") return line
    return ""
  } finally {
    shell.kill("SIGKILL")
  }
}

test("an invalid port is wrong usage, and nothing starts", async () => {
  await using directory = await temporaryDirectory()
  const outcome = await run(["dev", "--port", "eighty", "--data", join(directory.path, "none")])
  expect(outcome).toMatchObject({ status: 2, stdout: "" })
  expect(outcome.stderr).toContain("A port must be a whole number from 0 to 65535.")
  expect(await readdir(directory.path)).toEqual([])
})

test("an invalid setting of the environment is named, and nothing starts", async () => {
  await using directory = await temporaryDirectory()
  const surroundings = { env: { SLUICE_RETRY_SECONDS_MIN: "soon" } }
  const outcome = await run(["dev", "--data", join(directory.path, "none")], surroundings)
  expect(outcome).toMatchObject({ status: 1, stdout: "" })
  expect(outcome.stderr).toContain("SLUICE_RETRY_SECONDS_MIN")
  expect(await readdir(directory.path)).toEqual([])
})

test("a second signal ends a drain that hangs on an endpoint, at once", async () => {
  await using directory = await temporaryDirectory()
  await using dev = await startDev(directory.path)
  await using endpoint = await WebhookReceiver.start(dev.ready.app.consumer_secret)
  endpoint.hold()
  const client = createClient({ url: dev.ready.url, token: dev.ready.app.bearer_token })
  await client.request("POST", "rules", { body: { add: [{ value: "cat" }] } })
  const { data } = await client.request("POST", "webhooks", { body: { url: endpoint.url } })
  await client.request("POST", "link", { parameters: { webhook_id: data.id } })
  await client.request("POST", "posts", { body: '{"data":{"id":"5","text":"a cat"}}' })
  await endpoint.arrived(1)
  dev.process.end("SIGTERM")
  await sleep(700)
  expect(dev.process.isRunning).toBe(true)
  dev.process.end("SIGTERM")
  expect(await dev.process.ended()).toMatchObject({ code: null, signal: "SIGTERM" })
})

test.skipIf(process.getuid?.() !== 0)(
  "credentials are never written to a directory of another user, also with a database, and no server is started",
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, ".sluice")
    await mkdir(data)
    await chown(data, 12_345, 12_345)
    const refusal = "error: The data directory .sluice belongs to user 12345, and this is user 0."
    const embedded = await run(["dev", "--port", "0"], { cwd: directory.path })
    expect(embedded.stderr).toContain(refusal)
    // No server listens there: a start would say so.
    const ofDatabase = await run(["dev", "--port", "0", "--database", "postgres://127.0.0.1:1/none"], {
      cwd: directory.path,
      env: { SLUICE_MASTER_KEY: "ab".repeat(32) },
    })
    expect(ofDatabase.stderr).toContain(refusal)
    expect(await readdir(data)).toEqual([])
  },
)
