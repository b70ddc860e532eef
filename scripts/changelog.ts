/**
 * `npm run build:changelog`: renews the part "Unreleased" of CHANGELOG.md from the changesets, which are its only source.
 * With `--released`, after `changeset version` has consumed them, that part becomes the one of the new version.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"

const root = fileURLToPath(new URL("..", import.meta.url))
const changelogFile = join(root, "CHANGELOG.md")

/** The weight of a change for users: changesets call it the bump of the version. */
type Bump = "major" | "minor" | "patch"

/** A changeset: how much it changes of which packages, and its text. */
export interface Changeset {
  readonly name: string
  readonly bumps: Readonly<Record<string, Bump>>
  readonly text: string
}

const headings = { major: "Breaking changes", minor: "Features and changes", patch: "Fixes and improvements" } as const

/** Every changeset of the next release, by name. */
export function readChangesets(): readonly Changeset[] {
  const directory = join(root, ".changeset")
  return readdirSync(directory)
    .filter((file) => file.endsWith(".md") && file !== "README.md")
    .toSorted((one, other) => (one < other ? -1 : 1))
    .map((file) => parseChangeset(file.slice(0, -".md".length), readFileSync(join(directory, file), "utf8")))
}

/** Reads a changeset. Throws when its head is missing or names no package. */
export function parseChangeset(name: string, file: string): Changeset {
  const [, head, text] = /^---\n(.*?)\n---\n(.*)$/s.exec(file) ?? []
  const bumps = head === undefined ? null : (parse(head) as Readonly<Record<string, Bump>> | null)
  if (bumps === null || text === undefined) throw new Error(`.changeset/${name}.md names no package`)
  return { name, bumps, text: text.trim() }
}

/** The page with the part "Unreleased" made of these changesets; without any, there is none. */
export function withUnreleased(page: string, changesets: readonly Changeset[]): string {
  const { head, released } = partsOf(page)
  const groups = Map.groupBy(changesets, bumpOf)
  const lines = (["major", "minor", "patch"] as const).flatMap((bump) => {
    const items = groups.get(bump)?.map(itemOf)
    return items === undefined ? [] : [`### ${headings[bump]}`, "", ...items, ""]
  })
  return (
    `${head}${lines.length === 0 ? "" : ["## Unreleased", "", ...lines, ""].join("\n")}${released}`.trimEnd() + "\n"
  )
}

/** The page after a release: what was unreleased is what the version brought. */
export function withReleased(page: string, version: string): string {
  return page.replace(/^## Unreleased$/m, `## ${version}`)
}

/** The text before the part "Unreleased", and the text after it. */
function partsOf(page: string): { readonly head: string; readonly released: string } {
  const [head = "", ...parts] = page.split(/^(?=## )/m)
  return { head, released: parts.filter((part) => !part.startsWith("## Unreleased\n")).join("") }
}

/** The largest change of any package: all have one version. */
function bumpOf({ bumps }: Changeset): Bump {
  const all = Object.values(bumps)
  return all.includes("major") ? "major" : all.includes("minor") ? "minor" : "patch"
}

/** An item of the list; a changeset that is a list is several. Names its packages when it is about libraries alone. */
function itemOf({ bumps, text }: Changeset): string {
  const packages = Object.keys(bumps)
  const isProgram = packages.includes("sluice") || packages.includes("@sluice/server")
  const owners = isProgram ? "" : ` (${packages.map((name) => `\`${name}\``).join(", ")})`
  if (text.startsWith("- ")) return text
  return `- ${text.replaceAll("\n", "\n  ")}${owners}`
}

if (import.meta.main) {
  const page = readFileSync(changelogFile, "utf8")
  const { version } = JSON.parse(readFileSync(join(root, "packages/sluice/package.json"), "utf8")) as {
    readonly version: string
  }
  const isReleased = process.argv.includes("--released")
  writeFileSync(changelogFile, isReleased ? withReleased(page, version) : withUnreleased(page, readChangesets()))
}
