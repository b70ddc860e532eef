/** The client's operations, compared with the document of a real server. */
import { readFileSync } from "node:fs"
import { paths } from "@sluice/api"
import { Client as XdkClient } from "@xdevplatform/xdk"
import { parseSync } from "oxc-parser"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../test/support/test-server.testing.ts"
import { createClient, type Client } from "./client.ts"

/** Operations that are no request: what reads them instead. */
const elsewhere: ReadonlySet<string> = new Set(
  ["stream", "sample", "sample10", "postsCompliance", "usersCompliance", "matches"].map((name) => `GET ${name}`),
)

const file = "packages/client/src/operations.ts"

let server: TestServer
let client: Client

beforeAll(async () => {
  server = await startTestServer()
  client = createClient({ url: server.url, token: server.app.bearer_token })
})
afterAll(() => server[Symbol.asyncDispose]())

/** The members of the interface `Operations`, as `METHOD name`: types are gone when the program runs. */
function operationsOfClient(): readonly string[] {
  const { program } = parseSync(file, readFileSync(new URL("operations.ts", import.meta.url), "utf8"))
  const found: string[] = []
  for (const statement of program.body) {
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : undefined
    if (declaration?.type !== "TSInterfaceDeclaration" || declaration.id.name !== "Operations") continue
    for (const member of declaration.body.body) {
      if (member.type !== "TSPropertySignature" || member.key.type !== "Identifier") continue
      const methods = member.typeAnnotation?.typeAnnotation
      if (methods?.type !== "TSTypeLiteral") continue
      for (const method of methods.members) {
        if (method.type === "TSPropertySignature" && method.key.type === "Identifier") {
          found.push(`${method.key.name} ${member.key.name}`)
        }
      }
    }
  }
  return found
}

/** The operations of `/openapi.json`, by the names of their paths. */
async function operationsOfServer(): Promise<readonly string[]> {
  const document = await client.request("GET", "openapi")
  const nameOf = new Map(Object.entries(paths).map(([name, path]) => [path.replaceAll(/:(\w+)/g, "{$1}"), name]))
  const items = Object.entries(document["paths"] as Readonly<Record<string, object>>)
  return items.flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => /^(get|post|put|patch|delete)$/.test(method))
      .map((method) => `${method.toUpperCase()} ${nameOf.get(path) ?? path}`),
  )
}

test("every operation of the server is one of the client, and no other", async () => {
  const [known, described] = [operationsOfClient(), await operationsOfServer()]
  expect(known.length).toBeGreaterThan(20)
  const missing = described.filter((one) => !known.includes(one) && !elsewhere.has(one))
  expect(missing, `add to \`Operations\` in ${file}: \`name: { readonly METHOD: Operation<Response, Body> }\``).toEqual(
    [],
  )
  const gone = known.filter((one) => !described.includes(one))
  expect(gone, `remove from \`Operations\` in ${file}, or describe the route in openapi.ts`).toEqual([])
})

type AnyMethod = (...given: readonly unknown[]) => Promise<unknown>

/** Arguments of the methods that change what they are given; to any other an id, a body and options may look alike. */
const argumentsOf: Readonly<Record<string, readonly unknown[]>> = { "rules.add": [[]], "rules.delete": [{ ids: [] }] }

/** Methods that make requests of other methods. */
const composed: ReadonlySet<string> = new Set(["rules.sync"])

/** The methods of each operation, as `resource.method`, by the requests that they send. */
async function methodsByOperation(): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>()
  let method = ""
  const recorder = createClient({
    url: "",
    async fetch(url, { method: verb }) {
      // No path has a 7 of its own.
      const path = url.replace(/\?.*/, "")
      const name = Object.entries(paths).find(([, one]) => one.replaceAll(/:\w+/g, "7") === path)?.[0] ?? path
      const operation = `${verb ?? "GET"} ${name}`
      found.set(operation, [...(found.get(operation) ?? []), method])
      return new Response("{}")
    },
  })
  const streams = [
    "stream",
    "streamSample",
    "streamSample10",
    "streamPostsCompliance",
    "streamUsersCompliance",
  ] as const
  for (const name of [...streams, "matches"] as const) {
    method = name
    await recorder[name]({ reconnect: false }).next()
  }
  // The others are functions and the address.
  const resources = Object.entries(recorder).filter((entry): entry is [string, object] => typeof entry[1] === "object")
  for (const [resource, methods] of resources) {
    for (const [name, call] of Object.entries(methods) as [string, AnyMethod][]) {
      method = `${resource}.${name}`
      if (!composed.has(method)) await call(...(argumentsOf[method] ?? [7, 7, 7]))
    }
  }
  return found
}

test("each operation of the server is one method of a resource, and no other method exists", async () => {
  const [described, methods] = [await operationsOfServer(), await methodsByOperation()]
  const missing = described.filter((operation) => !methods.has(operation))
  expect(missing, "add a method to packages/client/src/resources.ts").toEqual([])
  expect([...methods.keys()].toSorted()).toEqual(described.toSorted())
  const several = [...methods].filter(([, names]) => names.length > 1)
  // The one operation whose body has forms of its own.
  expect(several).toEqual([["POST rules", ["rules.add", "rules.delete", "rules.deleteAll"]]])
})

test("methods of X's paths have the names that they have in X's own SDK", async () => {
  const sdk = new XdkClient({ bearerToken: "t" })
  const methods = await methodsByOperation()
  const unknown = [...methods].flatMap(([operation, names]) => {
    const path = paths[operation.replace(/^\w+ /, "") as keyof typeof paths]
    return path.startsWith("/2/") ? names.filter((name) => !isOfSdk(sdk, name)) : []
  })
  // X's SDK has `stream.posts`, `stream.postsSample`, `stream.postsCompliance` and their like, `stream.getRules`, `stream.getRuleCounts` and `stream.updateRules`.
  expect(unknown).toEqual([
    "stream",
    "streamSample",
    "streamSample10",
    "streamPostsCompliance",
    "streamUsersCompliance",
    "rules.get",
    "rules.add",
    "rules.delete",
    "rules.deleteAll",
    "rules.getCounts",
  ])
})

function isOfSdk(sdk: object, name: string): boolean {
  const [resource = "", method = ""] = name.split(".")
  const methods = (sdk as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[resource]
  return typeof methods?.[method] === "function"
}

test("health, descriptions and metrics are returned in their own formats", async () => {
  expect(await client.request("GET", "healthz")).toEqual({ status: "ok" })
  expect(await client.request("GET", "readyz")).toMatchObject({ status: expect.any(String) })
  expect(await client.request("GET", "metrics")).toMatch(/^# HELP sluice_/m)
  expect(await client.request("GET", "home")).toMatch(/^<!doctype html>/i)
  expect(await client.request("GET", "dialectOpenapi")).toMatchObject({ openapi: expect.stringMatching(/^3\./) })
})

test("a key and a secret, sent in a header of that request, obtain a token", async () => {
  const { consumer_key: key, consumer_secret: secret, bearer_token: token } = server.app
  const headers = { authorization: `Basic ${btoa(`${encodeURIComponent(key)}:${encodeURIComponent(secret)}`)}` }
  const body = new URLSearchParams({ grant_type: "client_credentials" })
  const issued = await createClient({ url: server.url }).request("POST", "oauthToken", { headers, body })
  expect(issued).toEqual({ token_type: "bearer", access_token: token })
})

test("a missing parameter rejects the promise", async () => {
  const parameters = {} as { webhook_id: string }
  await expect(client.request("GET", "linkDetail", { parameters })).rejects.toThrow("needs webhook_id")
})
