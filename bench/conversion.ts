/**
 * Conversion of foreign records: from the text of a record to the bytes of its envelope, by the server's own converters,
 * with nothing known. The limit is `JSON.parse` of the same texts, without which no program can read one. The records are
 * the posts among recorded frames of Bluesky's Jetstream, and recorded statuses of Mastodon.
 *
 * Source of the goals, ours: parsing, writing a text of about the same size and hashing two names were to cost about as
 * much as parsing twice; a status is mostly HTML, of which each character is looked at.
 *
 * Both are missed, and no single place is to blame. The second limit, the same with `JSON.stringify` of the envelopes, is
 * the part that no converter is without: 1.6 to 1.7 times the first. A profile shows where the time of a post goes: that
 * pair 43 %, which costs more amid other work than alone; SHA-256 of names 11 %, five times for a reply; garbage 6 %; the
 * time as text 5 %; no other function more than 3 %. A status spends 35 % on
 * the pair, 31 % on the tokenizer of HTML and the text of its tokens, since the description of the account is HTML too, and
 * some 8 % on names and hashes.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { blueskyConverter } from "../packages/server/src/conversion/bluesky/bluesky-converter.ts"
import type { Converter, KnownNames } from "../packages/server/src/conversion/converter.ts"
import { mastodonConverter } from "../packages/server/src/conversion/mastodon/mastodon-converter.ts"
import { asId, type PostId } from "../packages/server/src/model/ids.ts"
import { sharedDirectory } from "./envelopes.ts"
import { figure, type Figure } from "./figure.ts"
import { inTurn, warmUp, type Work } from "./rounds.ts"

const nothingKnown: KnownNames = { postId: () => undefined, user: () => undefined }

/** Stands for the id that a post without a derived one gets. */
const assigned = asId<PostId>("2090000000000000001")

const extent = { rounds: 9, roundMs: 500 }
const quickExtent = { rounds: 3, roundMs: 200 }

/** Prints the time of a record of each kind. */
export async function conversion(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const bluesky = blueskyConverter({
    takesReposts: false,
    takesProfiles: false,
    looksUpProfiles: false,
    givesMediaUrls: true,
  })
  const mastodon = mastodonConverter({ host: "oat.example", number: 0, takesReblogs: true, takesUnlisted: true })
  const sources = {
    bluesky: { converter: bluesky, lines: blueskyLines(), atMost: 2.5 },
    mastodon: { converter: mastodon, lines: mastodonLines(), atMost: 4 },
  }
  for (const [name, { converter, lines, atMost }] of Object.entries(sources)) {
    const posts = lines.filter((line) => converter.begin(line).finish(nothingKnown).kind === "post")
    const work = { convert: converting(converter, posts), parse: parsing(posts), json: rewriting(converter, posts) }
    await warmUp(Object.values(work), isQuick ? 1 : 3)
    const seen = await inTurn(work, isQuick ? quickExtent : extent)
    const content = { name: `conversion-${name}`, value: seen.convert, unit: "µs", limit: seen.parse }
    print(figure({ ...content, limitIs: "JSON.parse of the same records" }, { atMost }))
    const limitIs = "the same, and JSON.stringify of the envelopes to bytes"
    print(figure({ ...content, name: `conversion-${name}-json`, limit: seen.json, limitIs }))
  }
}

function converting(converter: Converter, lines: readonly string[]): Work {
  let bytes = 0
  return () => {
    for (const line of lines) {
      const converted = converter.begin(line).finish(nothingKnown)
      if (converted.kind === "post") bytes += Buffer.from(converted.envelopeWith(converted.id ?? assigned)).length
    }
    if (bytes === 0) throw new Error("no record became a post")
    return lines.length
  }
}

function parsing(lines: readonly string[]): Work {
  let members = 0
  return () => {
    for (const line of lines) members += Object.keys(JSON.parse(line) as object).length
    if (members === 0) throw new Error("no record has members")
    return lines.length
  }
}

/** Parses the records, and writes the envelopes, which are there as objects. */
function rewriting(converter: Converter, lines: readonly string[]): Work {
  const envelopes = lines.map((line) => {
    const converted = converter.begin(line).finish(nothingKnown)
    const text = converted.kind === "post" ? converted.envelopeWith(converted.id ?? assigned) : "{}"
    return { line, envelope: JSON.parse(text) as object }
  })
  let bytes = 0
  return () => {
    for (const { line, envelope } of envelopes) {
      bytes += Object.keys(JSON.parse(line) as object).length
      bytes += Buffer.from(JSON.stringify(envelope)).length
    }
    if (bytes === 0) throw new Error("no record has members")
    return lines.length
  }
}

function recorded(path: string): readonly string[] {
  return readFileSync(join(sharedDirectory, "data", path), "utf8")
    .trimEnd()
    .split("\n")
}

function blueskyLines(): readonly string[] {
  const names = ["jetstream-live-2026-05-25", "jetstream-live-2026-07-04", "jetstream-derived"]
  return names.flatMap((name) => recorded(`bluesky/${name}.jsonl`))
}

/** The statuses as the driver of a source passes them on. */
function mastodonLines(): readonly string[] {
  return recorded("mastodon/statuses.ndjson").map((status) => `{"event":"update","payload":${status}}`)
}
