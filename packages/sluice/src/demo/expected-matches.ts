/** The expected matches of the sample, computed without the server by evaluating each rule on each post. */
import type { Client } from "@sluice/client"
import { Failure } from "../process/failure.ts"
import type { StreamRecord } from "../terminal/streamed-post.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { terminalText } from "../terminal/terminal-text.ts"
import { testOnFile } from "../rules/test-rule.ts"
import type { DemoReporter } from "./demo-reporter.ts"
import type { Sample } from "./sample.ts"

/** The tags of the rules that each post should match; posts that match none are absent. */
export type Expected = ReadonlyMap<string, readonly string[]>

/** The rules of the demo. */
export const rules = [
  { tag: "lost cat", value: "#BiscuitWatch -is:retweet" },
  { tag: "cats", value: "cat OR cats OR 猫 OR 고양이 OR kedi OR 🐈" },
  { tag: "market pictures", value: '(#NightMarket OR "night market") has:images' },
  { tag: "night sky", value: "#OatfellSky OR telescope OR 🔭" },
  { tag: "weather", value: "from:odette_pluie -is:reply" },
  { tag: "asked of Wren", value: "to:wren_oatfell (lang:en OR lang:ar OR lang:ja)" },
] as const

/** Adds the demo's rules, and finds what they should match. */
export async function addRules(
  client: Client,
  sample: Sample,
  reporter: DemoReporter,
  { style, columns }: Pick<Terminal, "style" | "columns">,
): Promise<Expected> {
  const { data = [] } = await client.request("POST", "rules", { body: { add: [...rules] } })
  const expected = new Map<string, string[]>()
  for (const { tag, value } of rules) {
    const { matched } = await testOnFile(value, "stream", sample.file, {
      print: async ({ id }) => void expected.set(id, [...(expected.get(id) ?? []), tag]),
      skipped: (line, reason) => {
        throw new Failure(`Line ${String(line)} of the sample is not a post: ${reason}`)
      },
    })
    const count = `${String(matched).padStart(3)} posts`
    await reporter.show(`${style.mark(tag.padEnd(16))}  ${style.faint(count)}  ${terminalText(value, columns - 34)}`)
  }
  await reporter.check(data.length === rules.length, `${String(rules.length)} rules added`, String(data.length))
  await reporter.check(expected.size > 0, `${String(expected.size)} posts of the sample are expected to match`)
  return expected
}

/** Whether a post came with exactly the rules that it should match. */
export function isAsExpected(record: StreamRecord, expected: Expected): boolean {
  const tags = (record.matching_rules ?? []).map(({ tag }) => tag).toSorted()
  const expectedTags = (expected.get(record.data?.id ?? "") ?? []).toSorted()
  return JSON.stringify(tags) === JSON.stringify(expectedTags)
}

/** Checks that exactly the expected posts came. */
export async function checkSame(
  ids: readonly string[],
  expected: Expected,
  fact: string,
  reporter: DemoReporter,
): Promise<void> {
  const found = new Set(ids)
  const missing = [...expected.keys()].filter((id) => !found.has(id))
  const surplus = ids.filter((id) => !expected.has(id))
  await reporter.check(
    missing.length === 0 && surplus.length === 0,
    fact,
    `${String(found.size)}; missing ${listed(missing)}; unexpected ${listed(surplus)}`,
  )
}

/** The first ids of a list, for a message. */
export function listed(ids: Iterable<string>): string {
  const all = [...ids]
  return all.length === 0 ? "none" : `${all.slice(0, 5).join(", ")}${all.length > 5 ? ", …" : ""}`
}
