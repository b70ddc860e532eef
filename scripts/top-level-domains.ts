/**
 * Adds names to packages/rules/src/text/top-level-domains.ts:
 *
 *     node scripts/top-level-domains.ts tlds-alpha-by-domain.txt validCCTLD.js validGTLD.js
 *
 * The first is IANA's list, https://data.iana.org/TLD/tlds-alpha-by-domain.txt. The others are the names of X's own
 * library: `dist/regexp` of the package twitter-text (3.1.0), which is not among our dependencies, since it brings a
 * deprecated core-js. The script removes no name: X still makes links of names that IANA has delisted.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { domainToUnicode, fileURLToPath } from "node:url"

const modulePath = fileURLToPath(new URL("../packages/rules/src/text/top-level-domains.ts", import.meta.url))

/** The names in a list of IANA, or in a regular expression of twitter-text: lower case, in their own script. */
export function namesIn(file: string, text: string): readonly string[] {
  if (file.endsWith(".txt")) {
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
    return lines.map((line) => domainToUnicode(line.trim().toLowerCase()))
  }
  const source = text.slice(text.indexOf("RegExp(")).replaceAll(/' \+\s*'/g, "")
  return source.match(/[\p{L}\p{M}\p{N}]+(?=[|)])/gu) ?? []
}

/** The text of the module with these names added, in rising order. */
export function withNames(moduleText: string, names: readonly string[]): string {
  const lists = Array.from(moduleText.matchAll(/`\n([^`]*)`/g), ([, list = ""]) => list.trim())
  const all = [...lists.join(" ").split(/\s+/), ...names.map((name) => name.normalize("NFC"))]
  const distinct = Array.from(new Set(all)).toSorted()
  const isAscii = (name: string) => /^[a-z\d]+$/.test(name)
  const written = [distinct.filter(isAscii), distinct.filter((name) => !isAscii(name))].map(wrapped)
  return moduleText.replaceAll(/`\n[^`]*`/g, () => `\`\n${written.shift() ?? ""}\``)
}

function wrapped(names: readonly string[]): string {
  const lines: string[] = []
  for (const name of names) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + name.length > 108) lines.push(`  ${name}`)
    else lines[lines.length - 1] = `${last} ${name}`
  }
  return lines.join("\n")
}

if (import.meta.main) {
  const names = process.argv.slice(2).flatMap((path) => namesIn(basename(path), readFileSync(path, "utf8")))
  writeFileSync(modulePath, withNames(readFileSync(modulePath, "utf8"), names))
}
