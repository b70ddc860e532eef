/** Contents of a line of a stream. */
import { instant } from "../../model/date-time.ts"
import type { FieldSelection } from "../../model/field-selection.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { PostShape } from "../../model/post.ts"
import { renderDelivery, shapeFor } from "../../model/render-post.ts"

/** An entry whose post is whole. */
type WholeEntry = MatchEntry & { readonly postJson: string }

/** A format of lines. Formats are compared by identity: one line serves all connections of a format. */
export interface LineFormat {
  /** The shape in which the posts are read. */
  readonly shape: PostShape
  /** JSON text. */
  render(entry: WholeEntry): string
}

const deliveryFormats = new WeakMap<FieldSelection, LineFormat>()

/** The lines of X's stream: the post with the fields of the selection, and the rules that it matched. */
export function deliveryFormat(selection: FieldSelection): LineFormat {
  const known = deliveryFormats.get(selection)
  if (known !== undefined) return known
  const format: LineFormat = {
    shape: shapeFor(selection),
    render: (entry) => renderDelivery(entry, selection),
  }
  deliveryFormats.set(selection, format)
  return format
}

/** The lines of `GET /sluice/v1/matches`: position and time of the match before the envelope, whole, and its rules. */
export const matchFormat: LineFormat = {
  shape: "envelope",
  render({ seq, atMs, postJson, rulesJson, rulesOmitted }) {
    const omitted = rulesOmitted === undefined ? "" : `,"matching_rules_omitted":${rulesOmitted}`
    const head = `{"position":${seq},"matched_at":"${instant(atMs)}",`
    return `${head}${postJson.slice(1, -1)},"matching_rules":${rulesJson}${omitted}}`
  },
}
