/**
 * An item that is an envelope already, as docs/envelope.md describes it, with or without a position.
 *
 *     {"data":{…},"includes":{…}}                     an envelope, which names no position
 *     {"envelope":{"data":{…}},"cursor":"42"}         an envelope and the position after it, a text or a whole number
 *     {"envelope":"{\"data\":…}","cursor":42}         the same, the envelope as text
 *
 * A deletion in one of X's three forms may stand in the place of an envelope. The text of the envelope goes on letter for
 * letter, since parsing and writing it again would lose digits; ingest checks it as it checks any other.
 */
import { asId, isId, type PostId, type UserId } from "../model/ids.ts"
import { membersOf, withMembers, withoutLineBreaks } from "../model/json-text.ts"
import type { Conversion, Converted, Converter } from "./converter.ts"
import { itemPlace } from "./mapped-item.ts"
import {
  filledOf,
  invalidMember,
  memberOf,
  objectOf,
  parsedRecord,
  settled,
  unlessRejected,
  type Members,
  type Place,
} from "./records.ts"

/** A converter of items that are envelopes. */
export function envelopeItemConverter(): Converter {
  return {
    begin: (line) =>
      unlessRejected({}, () => {
        const item = parsedRecord(line)
        if (!("envelope" in item)) return envelopeConversion(item, line, {})
        const place = { ...itemPlace(item), ...(typeof item.envelope === "string" && { record: item.envelope }) }
        return unlessRejected(place, () => wrappedConversion(item, line, place))
      }),
    idOf: () => undefined,
  }
}

function wrappedConversion({ envelope }: Members, line: string, place: Place): Conversion {
  if (typeof envelope === "string") return envelopeConversion(parsedRecord(envelope), envelope, place)
  const members = objectOf(envelope)
  if (members === undefined) throw invalidMember("envelope", envelope, "an envelope, or its text")
  return envelopeConversion(members, membersOf(line).get("envelope") ?? "", place)
}

function envelopeConversion(envelope: Members, text: string, place: Place): Conversion {
  const deleted = deletionOf(envelope)
  if (deleted !== undefined) return settled(deleted, place)
  const data = objectOf(envelope.data)
  if (data === undefined) throw invalidMember("data", envelope.data, "a post")
  const id = idAt<PostId>("data.id", data.id)
  return settled(
    {
      kind: "post",
      name: filledOf(data.source_uri),
      id,
      isOld: false,
      envelopeWith: (own) => withoutLineBreaks(own === id ? text : withId(text, own)),
    },
    place,
  )
}

function idAt<Id extends PostId | UserId>(name: string, value: unknown): Id {
  if (typeof value !== "string" || !isId(value)) throw invalidMember(name, value, "a string of 1 to 19 digits")
  return asId<Id>(value)
}

/** The text with another id of the post. */
function withId(text: string, id: PostId): string {
  return withMembers(text, (name, value) =>
    name === "data" ? withMembers(value, (member, of) => (member === "id" ? JSON.stringify(id) : of)) : value,
  )
}

/** A deletion in a form of X's streams; undefined for anything else. */
function deletionOf({ delete: plain, data }: Members): Converted | undefined {
  if (memberOf(data, "id") !== undefined || memberOf(data, "text") !== undefined) return undefined
  if (plain !== undefined) return postDeleted("delete.status.id_str", memberOf(memberOf(plain, "status"), "id_str"))
  const deleted = memberOf(data, "delete")
  if (deleted !== undefined) return postDeleted("data.delete.tweet.id", memberOf(memberOf(deleted, "tweet"), "id"))
  const user = memberOf(data, "user_delete")
  if (user === undefined) return undefined
  return { kind: "user deleted", id: idAt<UserId>("data.user_delete.user.id", memberOf(memberOf(user, "user"), "id")) }
}

function postDeleted(path: string, value: unknown): Converted {
  const id = idAt<PostId>(path, value)
  return { kind: "post deleted", name: id, id }
}
