/** The client's operations, compared with the document of a real server. */
import { readFileSync } from "node:fs"
import { paths } from "@sluice/api"
import { parseSync } from "oxc-parser"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../test/support/test-server.testing.ts"
import { createClient, type Client } from "./client.ts"

/** Operations that are no request: what reads them instead. */
const elsewhere: ReadonlySet<string> = new Set(["GET stream", "GET matches"])

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
