import { execFile, spawn } from "node:child_process"
import { createHmac } from "node:crypto"
import { readdir, readFile, rm, stat } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { sleep } from "./clock.ts"
import { run, start, startDev, temporaryDirectory } from "./command.testing.ts"

test("the ready line has the promised members, and is all that goes to standard output", async () => {
  await using directory = await temporaryDirectory()
  await using dev = await startDev(directory.path)
  expect(dev.ready).toEqual({
    event: "ready",
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    app: {
      application_id: expect.stringMatching(/^\d{1,19}$/),
      business_user_id: expect.stringMatching(/^\d{1,19}$/),
      instance_id: expect.stringMatching(/^\d{1,19}$/),
      consumer_key: expect.stringMatching(/^\S+$/),
      consumer_secret: expect.stringMatching(/^\S+$/),
      bearer_token: expect.stringMatching(/^sluice_app_/),
    },
    operator_token: expect.stringMatching(/^sluice_operator_/),
  })
  dev.child.kill("SIGTERM")
  expect(await dev.end).toMatchObject({ status: 0, stdout: "" })
})

test("the credentials file is its owner's alone and holds what the ready line says", async () => {
  await using directory = await temporaryDirectory()
  await using dev = await startDev(directory.path)
  const file = join(directory.path, "credentials.json")
  const { event: _, ...credentials } = dev.ready
  expect(JSON.parse(await readFile(file, "utf8"))).toEqual(credentials)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test("a second start on the same data has the same app and tokens", async () => {
  await using directory = await temporaryDirectory()
  const readyLines = []
  for (let starts = 0; starts < 2; starts++) {
    await using dev = await startDev(directory.path)
    readyLines.push({ ...dev.ready, url: "" })
    dev.child.kill("SIGTERM")
    expect((await dev.end).status).toBe(0)
  }
  expect(readyLines[1]).toEqual(readyLines[0])
})

test("after a lost credentials file it is the same app, with a new operator token that works", async () => {
  await using directory = await temporaryDirectory()
  const apps = []
  for (let starts = 0; starts < 2; starts++) {
    await using dev = await startDev(directory.path)
    apps.push(dev.ready.app)
    const links = await fetch(`${dev.ready.url}/sluice/v1/links`, {
      headers: { authorization: `Bearer ${dev.ready.operator_token}` },
    })
    expect(links.status).toBe(200)
    dev.child.kill("SIGINT")
    await dev.end
    await rm(join(directory.path, "credentials.json"))
  }
  expect(apps[1]).toEqual(apps[0])
})

test("rotated credentials are those of the next start", async () => {
  await using directory = await temporaryDirectory()
  {
    await using dev = await startDev(directory.path)
    const rotated = await run([
      "app",
      "rotate",
      dev.ready.app.application_id,
      "--json",
      "--data",
      directory.path,
    ])
    expect(rotated.status).toBe(0)
    dev.child.kill("SIGTERM")
    await dev.end
    await using again = await startDev(directory.path)
    expect(again.ready.app).toEqual(JSON.parse(rotated.stdout))
    expect(again.ready.app.bearer_token).not.toBe(dev.ready.app.bearer_token)
  }
})

test("a second process on the same data says so and exits 1", async () => {
  await using directory = await temporaryDirectory()
  await using dev = await startDev(directory.path)
  const second = await run(["dev", "--port", "0", "--data", directory.path])
  expect(second).toMatchObject({ status: 1, stdout: "" })
  expect(second.stderr).toContain(`The data directory ${directory.path} is in use by another Sluice process.`)
  expect(second.stderr).not.toMatch(/^\s+at /m)
  expect(dev.child.exitCode).toBe(null)
})

test("a port that is taken is said in a line", async () => {
  await using directory = await temporaryDirectory()
  await using dev = await startDev(directory.path)
  const { port } = new URL(dev.ready.url)
  const second = await run(["dev", "--port", port, "--data", join(directory.path, "other")])
  expect(second).toMatchObject({ status: 1, stdout: "" })
  expect(second.stderr).toContain(`error: Something listens on 127.0.0.1:${port} already.`)
  expect(second.stderr).not.toMatch(/^\s+at /m)
})

test("it drains under an open stream connection and exits 0", async () => {
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
  dev.child.kill("SIGTERM")
  // The server says good-bye in the stream and ends it; what it says is the server's own affair.
  await stream.text()
  expect((await dev.end).status).toBe(0)
})

test("the printed curl lines work when pasted", async () => {
  await using directory = await temporaryDirectory()
  const child = start(["dev", "--port", "0", "--data", directory.path])
  try {
    let printed = ""
    for await (const chunk of child.stdout) {
      printed += String(chunk)
      if (printed.includes("Ctrl-C")) break
    }
    const lines = printed.split("\n").filter((line) => line.startsWith("curl "))
    // The option, not any "-N": a random token may hold that too.
    const endless = (line: string) => line.startsWith("curl -N ")
    expect(lines.map(endless)).toEqual([false, false, true, false, false])
    const answers = []
    for (const line of lines) {
      answers.push(
        endless(line)
          ? await firstRecord(line.replace(/^curl/, "exec curl --silent --max-time 15"))
          : (await promisify(execFile)("sh", ["-c", line.replace(/^curl/, "curl --silent --fail")])).stdout,
      )
    }
    const [rules = "", ingest = "", stream = "", posts = "", links = ""] = answers
    expect(JSON.parse(rules)).toMatchObject({ data: [{ tag: "first rule" }] })
    expect(JSON.parse(ingest)).toMatchObject({ accepted: 1, rejected_count: 0 })
    expect(JSON.parse(stream)).toMatchObject({ data: { id: "1" }, matching_rules: [{ tag: "first rule" }] })
    expect(JSON.parse(posts)).toMatchObject({ data: [{ id: "1" }], meta: { result_count: 1 } })
    expect(JSON.parse(links)).toEqual({ data: { links: [] } })
  } finally {
    child.kill("SIGKILL")
  }
})

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

test("a port that is none is wrong usage, and nothing starts", async () => {
  await using directory = await temporaryDirectory()
  const outcome = await run(["dev", "--port", "eighty", "--data", join(directory.path, "none")])
  expect(outcome).toMatchObject({ status: 2, stdout: "" })
  expect(outcome.stderr).toContain("A port is a whole number from 0 to 65535.")
  expect(await readdir(directory.path)).toEqual([])
})

test("a setting of the environment that makes no sense is named, and nothing starts", async () => {
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
  await using endpoint = await startHangingEndpoint(dev.ready.app.consumer_secret)
  const send = async (path: string, body: string): Promise<{ data: { id: string } }> => {
    const headers = {
      authorization: `Bearer ${dev.ready.app.bearer_token}`,
      "content-type": "application/json",
    }
    const answer = await fetch(`${dev.ready.url}${path}`, { method: "POST", headers, body })
    return (await answer.json()) as { data: { id: string } }
  }
  await send("/2/tweets/search/stream/rules", '{"add":[{"value":"cat"}]}')
  const { data } = await send("/2/webhooks", JSON.stringify({ url: endpoint.url }))
  await send(`/2/tweets/search/webhooks/${data.id}`, "")
  await fetch(`${dev.ready.url}/sluice/v1/posts`, {
    method: "POST",
    headers: { authorization: `Bearer ${dev.ready.operator_token}`, "content-type": "application/x-ndjson" },
    body: '{"data":{"id":"5","text":"a cat"}}',
  })
  await endpoint.called
  dev.child.kill("SIGTERM")
  await sleep(700)
  expect(dev.child.exitCode).toBe(null)
  dev.child.kill("SIGTERM")
  expect(await dev.end).toMatchObject({ status: null })
  expect(dev.child.signalCode).toBe("SIGTERM")
})

/** An endpoint that answers the challenge and then never a delivery. */
async function startHangingEndpoint(
  secret: string,
): Promise<{ url: string; called: Promise<void> } & AsyncDisposable> {
  const called = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    const token = new URL(request.url ?? "", "http://endpoint").searchParams.get("crc_token")
    if (token === null) return called.resolve()
    const hmac = createHmac("sha256", secret).update(token).digest("base64")
    response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ response_token: `sha256=${hmac}` }))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`,
    called: called.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
