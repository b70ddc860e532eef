/** The files of `deploy/`: read by the programs that they are for, where this machine has these. */
import { execFile, spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, inject, test } from "vitest"
import { parse, parseAllDocuments } from "yaml"
import { loadConfig } from "@sluice/server"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { root } from "./nodes.testing.ts"

const run = promisify(execFile)
const has = (program: string): boolean => spawnSync(program, ["--version"]).error === undefined
const deployed = (file: string): string => join(root, "deploy", file)

/** Most exposure that `systemd-analyze security` may find, of 100. Ours: what it calls "OK" ends at 20. */
const exposureMax = 20

test.runIf(has("systemd-analyze"))("systemd finds nothing wrong with the service, and little exposed", async () => {
  await using directory = await temporaryDirectory()
  const unit = join(directory.path, "sluice.service")
  const text = readFileSync(deployed("sluice.service"), "utf8")
  const command = join(inject("installed"), "node_modules/.bin/sluice")
  await writeFile(unit, text.replace("ExecStart=/usr/local/bin/sluice ", `ExecStart=${command} `))
  expect(await run("systemd-analyze", ["verify", "--man=no", unit])).toEqual({ stdout: "", stderr: "" })
  const args = ["security", "--no-pager", "--offline=true", `--threshold=${exposureMax}`, unit]
  expect((await run("systemd-analyze", args)).stdout).toMatch(/Overall exposure level for sluice\.service: [01]\.\d/)
})

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly enableServiceLinks?: boolean
        readonly containers: readonly { readonly env: readonly { name: string; value?: string }[] }[]
      }
    }
  }
}

/** The variables that Kubernetes sets for a service in the pods of its namespace. Source: its documentation, "Accessing the Service". */
function serviceLinks({ metadata: { name } }: { readonly metadata: { readonly name: string } }) {
  const prefix = name.toUpperCase().replaceAll("-", "_")
  return { [`${prefix}_SERVICE_HOST`]: "10.0.0.11", [`${prefix}_PORT`]: "tcp://10.0.0.11:80" }
}

interface Compose {
  readonly services: Readonly<
    Record<string, { readonly environment: Readonly<Record<string, string>>; readonly volumes?: readonly string[] }>
  >
  readonly volumes: object
}

test("compose sets what the server knows, and names no volume that is not there", () => {
  const { services, volumes } = parse(readFileSync(deployed("compose.yaml"), "utf8")) as Compose
  expect(Object.keys(services)).toEqual(["sluice", "caddy"])
  const config = loadConfig({ posture: "serve", flags: {}, env: services["sluice"]?.environment ?? {} })
  expect(config.metricsPort).toBe(9464)
  const used = Object.values(services).flatMap(({ volumes: own = [] }) =>
    own.map((volume) => volume.split(":")[0] ?? ""),
  )
  expect(used.toSorted()).toEqual(["./Caddyfile", ...Object.keys(volumes)].toSorted())
})

test("three processes share a database and a key, by compose and on Kubernetes", () => {
  const { services, volumes } = parse(readFileSync(deployed("compose.cluster.yaml"), "utf8")) as Compose
  expect(Object.keys(services)).toEqual(["postgres", "sluice", "caddy"])
  const used = Object.values(services).flatMap(({ volumes: own = [] }) =>
    own.map((volume) => volume.split(":")[0] ?? ""),
  )
  expect(used.toSorted()).toEqual(["./Caddyfile.cluster", ...Object.keys(volumes)].toSorted())
  const key = "ab".repeat(32)
  const filled = (text: string) =>
    text.replace(/\$\{POSTGRES_PASSWORD\}/, "secret").replace(/\$\{SLUICE_MASTER_KEY.*\}/, key)
  const env = Object.entries(services["sluice"]?.environment ?? {}).map(([name, value]) => [name, filled(value)])
  // The image sets a data directory, which a process with a database must not have.
  const inImage = { SLUICE_DATA: "/data", ...Object.fromEntries(env) } as Record<string, string>
  const composed = loadConfig({ posture: "serve", flags: {}, env: inImage })
  expect(composed).toMatchObject({ database: "postgres://sluice:secret@postgres:5432/sluice", masterKey: key })

  const [deployment, service] = parseAllDocuments(readFileSync(deployed("kubernetes.yaml"), "utf8")).map(
    (document): unknown => document.toJS(),
  ) as [Deployment, Parameters<typeof serviceLinks>[0]]
  const { enableServiceLinks = true, containers } = deployment.spec.template.spec
  const values: Readonly<Record<string, string>> = { SLUICE_DATABASE: "postgres://db/sluice", SLUICE_MASTER_KEY: key }
  const variables = containers[0]?.env.map(({ name, value }) => [name, value ?? values[name]])
  const inPod = {
    SLUICE_DATA: "/data",
    ...(enableServiceLinks && serviceLinks(service)),
    ...Object.fromEntries(variables ?? []),
  } as Record<string, string>
  expect(loadConfig({ posture: "serve", flags: {}, env: inPod })).toMatchObject({ database: "postgres://db/sluice" })
})

test.runIf(has("caddy"))("Caddy takes its files, and passes on to the server's port", async () => {
  const options = { env: { ...process.env, SLUICE_DOMAIN: "sluice.example.com" } }
  const adapt = async (file: string): Promise<string> => {
    const args = ["adapt", "--validate", "--adapter", "caddyfile", "--config", deployed(file)]
    return (await run("caddy", args, options)).stdout
  }
  expect(await adapt("Caddyfile")).toContain('"dial":"sluice:8080"')
  expect(await adapt("Caddyfile.cluster")).toContain('"name":"sluice","port":"8080"')
})

test("a changeset for one package raises all to the same version, and their dependencies on each other", async () => {
  await using directory = await temporaryDirectory()
  const { path: cwd } = directory
  await run("git", ["clone", "--quiet", root, cwd])
  await symlink(join(root, "node_modules"), join(cwd, "node_modules"))
  await writeFile(join(cwd, ".changeset/new-thing.md"), '---\n"@sluice/api": minor\n---\n\nSomething is new.\n')
  await run("npx", ["changeset", "version"], { cwd })
  const manifests = readdirSync(join(cwd, "packages")).map((name) =>
    readFileSync(join(cwd, "packages", name, "package.json"), "utf8"),
  )
  const versions = manifests.map((text) => (JSON.parse(text) as { version: string }).version)
  const needed = manifests.flatMap((text) => [...text.matchAll(/"@sluice\/\w+": "([^"]+)"/g)].map(([, one]) => one))
  expect(needed.length).toBeGreaterThan(5)
  expect(new Set([...versions, ...needed])).toEqual(new Set([versions[0]]))
  const before = JSON.parse(readFileSync(join(root, "packages/api/package.json"), "utf8")) as { version: string }
  expect(versions[0]).not.toBe(before.version)
})

test("the release workflow runs what CI runs, and publishes with provenance", () => {
  const workflow = readFileSync(join(root, ".github/workflows/release.yml"), "utf8")
  expect(parse(workflow)).toMatchObject({ jobs: { packages: { permissions: { "id-token": "write" } } } })
  const scripts = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> }
  const used = [...workflow.matchAll(/npm run ([\w:-]+)/g)].map(([, script = ""]) => script)
  expect(used).not.toEqual([])
  expect(Object.keys(scripts.scripts)).toEqual(expect.arrayContaining(used))
  expect(workflow).toContain(".ci/run")
})
