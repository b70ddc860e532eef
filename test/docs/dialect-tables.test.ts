/** The tables of the documentation that list what the program has as a table too. */
import { readFileSync } from "node:fs"
import { newNames, notOffered, paths, requiredMembers } from "@sluice/api"
import { describe, expect, test } from "vitest"
import { notOfferedAt } from "../../packages/server/src/http/not-offered.ts"
import { hasSharedData } from "../support/shared-data.testing.ts"
import { namesDeclaredByX, xDocument } from "../support/x-document.testing.ts"
import { startTestServer } from "../support/test-server.testing.ts"

/** The cells of the first table after a heading of a page, row by row, without the table's head. */
function tableAfter(page: string, heading: string): readonly (readonly string[])[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8")
  const lines = text.slice(text.indexOf(`\n${heading}\n`)).split("\n")
  const start = lines.findIndex((line) => line.startsWith("| --"))
  const end = lines.findIndex((line, at) => at > start && !line.startsWith("|"))
  return lines.slice(start + 1, end).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  )
}

const code = (text: string): string => `\`${text}\``

test("the page of the API has both vocabularies", () => {
  const kinds = {
    expansions: "expansion",
    includes: "list in `includes`",
    post: "field of a post",
    postMetrics: "count of a post",
    user: "field of a user",
    userExpansions: "expansion of users",
    userMetrics: "count of a user",
  } as const satisfies Record<keyof typeof newNames, string>
  const expected = Object.entries(kinds).flatMap(([kind, what]) =>
    Object.entries(newNames[kind as keyof typeof newNames]).map(([name, older]) => [what, code(older), code(name)]),
  )
  expect(tableAfter("api.md", "## Two vocabularies")).toEqual(expected)
})

test("the page of compatibility has all that is not offered, with the reasons", () => {
  const expected = notOffered.map(({ matter, reason, paths: patterns }) => [
    `${matter.charAt(0).toUpperCase()}${matter.slice(1)}`,
    reason,
    patterns.map(code).join(", "),
  ])
  expect(tableAfter("compatibility.md", "### not-offered")).toEqual(expected)
})

test("no path of Sluice is among those that are not offered", () => {
  expect(Object.values(paths).filter((path) => notOfferedAt(path) !== undefined)).toEqual([])
})

/** Paths of X that are neither offered nor refused for good. */
const notYet = [
  /^\/2\/activity\//,
  /^\/2\/media(\/\{media_key\})?$/,
  /^\/2\/tweets\/\{tweet_id\}\/hidden$/,
  /^\/2\/users\/reposts_of_me$/,
  /^\/2\/users\/\{id\}\/retweets(\/\{source_tweet_id\})?$/,
]

describe.runIf(hasSharedData)("of X's document", () => {
  test("each path is offered, not offered with a reason, or not there yet", () => {
    const offered = new Set<string>(Object.values(paths).map((path) => path.replaceAll(/:(\w+)/g, "{$1}")))
    const kindsOf = (path: string): readonly string[] => [
      ...(offered.has(path) ? ["offered"] : []),
      ...(notOfferedAt(path.replaceAll(/\{\w+\}/g, "1")) === undefined ? [] : ["not offered"]),
      ...(notYet.some((pattern) => pattern.test(path)) ? ["not yet"] : []),
    ]
    const all = Object.keys(xDocument().paths)
    expect(all.filter((path) => kindsOf(path).length === 0)).toEqual([])
    expect(all.filter((path) => kindsOf(path).length > 1)).toEqual([])
  })

  test("the members that it requires of an object within an object are added, but for those that cannot be made up", () => {
    const { schemas } = xDocument().components
    const kinds = { post: "Post", user: "User", media: "Media", place: "Place", poll: "Poll" } as const
    const required = Object.entries(kinds).flatMap(([kind, schemaName]) =>
      Object.entries(schemas[schemaName]?.properties ?? {}).flatMap(([member, { $ref }]) => {
        const names = $ref === undefined ? undefined : schemas[$ref.replace(/^.*\//, "")]?.required
        return names === undefined ? [] : [`${kind}.${member}: ${names.toSorted().join(",")}`]
      }),
    )
    const added = Object.entries(requiredMembers).flatMap(([kind, members]) =>
      Object.entries(members).map(([member, names]) => `${kind}.${member}: ${Object.keys(names).toSorted().join(",")}`),
    )
    const neverMissing = ["post.note_post: text", "place.geo: bbox,properties,type"]
    expect([...added, ...neverMissing].toSorted()).toEqual(required.toSorted())
  })

  test("each value of a parameter that chooses fields or expansions is accepted on its path", async () => {
    await using server = await startTestServer()
    const token = (await server.running.apps.createUserToken(server.app.application_id, "1")) ?? ""
    const queries: Partial<Record<keyof typeof paths, string>> = {
      postsById: "ids=1&",
      users: "ids=1&",
      usersBy: "usernames=wren&",
      userSearch: "query=wren&",
      searchRecent: "query=wren&",
      searchAll: "query=wren&",
    }
    const streams = new Set<string>([paths.stream, paths.sample, paths.sample10])
    let compared = 0
    for (const [name, path] of Object.entries(paths)) {
      const lists = namesDeclaredByX(path.replaceAll(/:(\w+)/g, "{$1}"))
      if (!lists.has("expansions") || streams.has(path)) continue
      compared += 1
      expect([...lists.keys()]).toEqual(expect.arrayContaining(["post.fields", "user.fields", "expansions"]))
      const request = `${path.replace(":id", "1").replace(":username", "wren")}?${queries[name as keyof typeof paths] ?? ""}`
      for (const [parameter, names] of lists) {
        const { status, text } = await server.call(`${request}${parameter}=${names.join(",")}`, { token })
        expect(status, text).toBe(200)
      }
      const all = [...lists].map(([parameter, names]) => `${parameter}=${names.join(",")}`).join("&")
      expect((await server.call(request + all, { token })).status).toBe(200)
    }
    expect(compared).toBe(15)
  })
})
