/** A server in this process with sources as its configuration file would list them. */
import { paths, pathOf } from "@sluice/api/paths"
import { startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import type { Posture } from "../config.ts"

/** Members of an entry. */
export type TestEntry = Readonly<Record<string, unknown>> & { readonly name: string; readonly type: string }

/** Starts one, without a search index; other settings by flag name. */
export function startServerWith(
  entries: readonly TestEntry[],
  flags: Readonly<Record<string, string>> = {},
  posture: Posture = "dev",
): Promise<TestServer> {
  const sources = entries.map((members) => ({ name: members.name, type: members.type, members, place: "a test" }))
  return startTestServer({ search: "off", ...flags }, posture, undefined, { sources })
}

/** The state of a source, as an operator reads it. */
export async function sourceState(server: TestServer, name: string): Promise<Readonly<Record<string, unknown>>> {
  const token = await server.running.apps.createToken("operator")
  const { body } = await server.call(pathOf(paths.source, { name }), { token })
  return (body as { readonly data: Readonly<Record<string, unknown>> }).data
}
