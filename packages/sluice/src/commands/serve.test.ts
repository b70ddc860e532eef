import { once } from "node:events"
import { createServer, type AddressInfo } from "node:net"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ended, run, start } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

test("apps and tokens are created in the store itself, and a running server recognises them", async () => {
  await using directory = await temporaryDirectory()
  const data = ["--data", directory.path]
  const created = await run(["app", "create", "First \u001B[31mapp", "--json", ...data])
  expect(created.status).toBe(0)
  const app = JSON.parse(created.stdout) as { application_id: string; bearer_token: string }

  const child = start(["serve", "--port", "0", ...data])
  try {
    const url = await new Promise<string>((resolve) => {
      let said = ""
      child.stderr.on("data", (chunk) => {
        said += String(chunk)
        const found = /Sluice is listening on (\S+?)\. /.exec(said)
        if (found?.[1] !== undefined) resolve(found[1])
      })
    })
    const rules = (token: string): Promise<number> =>
      run(["rules", "list", "--json", "--url", url, "--token", token]).then(({ status }) => status ?? -1)
    expect(await rules(app.bearer_token)).toBe(0)

    const rotated = await run(["app", "rotate", app.application_id, "--json", ...data])
    const { bearer_token: newToken } = JSON.parse(rotated.stdout) as { bearer_token: string }
    expect(await rules(newToken)).toBe(0)
    await expect.poll(() => rules(app.bearer_token)).toBe(1)

    const token = await run(["token", "create", "--kind", "ingest", ...data])
    const ingest = token.stdout.trim()
    expect(ingest).toMatch(/^sluice_ingest_/)
    const imported = await run(["import", "-", "--json", "--url", url, "--token", ingest], {
      input: '{"data":{"id":"1","text":"hello"}}\n',
    })
    expect(JSON.parse(imported.stdout)).toEqual({ accepted: 1, duplicates: 0, rejected: 0, skipped: 0, lines: 1 })

    expect((await run(["app", "revoke", app.application_id, ...data])).status).toBe(0)
    await expect.poll(() => rules(newToken)).toBe(1)

    const listed = await run(["app", "list", "--json", ...data])
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name: "First \u001B[31mapp", revoked: true }])
    expect((await run(["app", "list", ...data])).stdout).toContain("revoked  First ␛[31mapp")

    const webhook = await run(["webhooks", "add", "http://127.0.0.1:9/", "--url", url, "--token", newToken])
    expect(webhook.status).toBe(1)
  } finally {
    child.kill("SIGTERM")
  }
  const exit = ended(child)
  expect((await exit).status).toBe(0)
}, 60_000)

test("an unknown app is an error, and no directory is made for it", async () => {
  await using directory = await temporaryDirectory()
  const nowhere = join(directory.path, "nowhere")
  for (const args of [["rotate", "1"], ["revoke", "1"], ["list"]]) {
    const outcome = await run(["app", ...args, "--data", nowhere])
    expect(outcome).toMatchObject({ status: 1, stdout: "" })
    expect(outcome.stderr).toContain(`There is no data directory ${nowhere}.`)
  }
  expect(await readdir(directory.path)).toEqual([])
  await run(["token", "create", "--kind", "operator", "--data", directory.path])
  const unknown = await run(["app", "rotate", "1", "--data", directory.path])
  expect(unknown).toMatchObject({ status: 1, stdout: "" })
  expect(unknown.stderr).toContain("There is no app 1.")
})

test("--print-config shows each value with its source, and masks secrets", async () => {
  const secret = "ab".repeat(32)
  const outcome = await run(["serve", "--print-config", "--port", "9999"], {
    env: { SLUICE_MASTER_KEY: secret, SLUICE_HOST: "0.0.0.0" },
  })
  expect(outcome.status).toBe(0)
  expect(outcome.stdout).toContain("port = 9999  # --port\n")
  expect(outcome.stdout).toContain("host = 0.0.0.0  # SLUICE_HOST\n")
  expect(outcome.stdout).toContain("masterKey = ********  # SLUICE_MASTER_KEY\n")
  expect(outcome.stdout).not.toContain(secret)
})

test("every command on the store refuses a database in addition to a data directory, and creates nothing", async () => {
  await using directory = await temporaryDirectory()
  const at = join(directory.path, "d")
  const commands = [
    ["serve"],
    ["dev"],
    ["app", "create", "one"],
    ["token", "list"],
    ["backup", join(directory.path, "copy")],
    ["restore", join(directory.path, "copy")],
    ["rotate-master-key"],
  ]
  for (const command of commands) {
    const outcome = await run([...command, "--database", "postgres://me:s3cret@db/sluice", "--data", at])
    expect(outcome, command.join(" ")).toMatchObject({ status: 1, stdout: "" })
    expect(outcome.stderr).toContain("database (from --database) and data (from --data) are both set")
    expect(outcome.stderr).not.toContain("s3cret")
  }
  const examined = await run(["doctor", "--database", "postgres://me:s3cret@db/sluice", "--data", at])
  expect(examined.stdout).toContain("database (from --database) and data (from --data) are both set")
  expect(await readdir(directory.path)).toEqual([])
})

test("a stalled reader of the log delays no request, and the server still ends", async () => {
  await using directory = await temporaryDirectory()
  const child = start(["dev", "--port", "0", "--data", directory.path, "--log-level", "debug", "--json"])
  try {
    child.stderr.pause()
    const [ready] = (await once(child.stdout, "data")) as [Buffer]
    const { url } = JSON.parse(ready.toString()) as { url: string }
    // Many times what the socket between the processes takes in.
    for (let round = 0; round < 60; round += 1) {
      const responses = await Promise.all(
        Array.from({ length: 30 }, async () => fetch(`${url}/healthz`, { signal: AbortSignal.timeout(20_000) })),
      )
      for (const response of responses) expect(await response.json()).toEqual({ status: "ok" })
    }
    child.kill("SIGTERM")
    const [status] = (await once(child, "exit")) as [number | null]
    expect(status).toBe(0)
  } finally {
    child.kill("SIGKILL")
  }
}, 60_000)

test("SIGTERM ends a start that waits for its database, and the command reports it", async () => {
  await using directory = await temporaryDirectory()
  // Takes the connection and never responds.
  const silent = createServer().listen(0, "127.0.0.1")
  await once(silent, "listening")
  const { port } = silent.address() as AddressInfo
  const child = start(["serve", "--port", "0"], {
    cwd: directory.path,
    env: { SLUICE_DATABASE: `postgres://postgres@127.0.0.1:${port}/none`, SLUICE_MASTER_KEY: "ab".repeat(32) },
  })
  try {
    const outcome = ended(child)
    await once(silent, "connection")
    child.kill("SIGTERM")
    const { status, stderr } = await outcome
    expect(stderr).toBe("error: Interrupted by SIGTERM.\n")
    expect(status).toBe(1)
  } finally {
    child.kill("SIGKILL")
    silent.close()
  }
})
