/** Contents of a line of a stream. */
import { instant } from "../../model/date-time.ts"
import type { FieldSelection } from "../../model/field-selection.ts"
import type { PostId } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { PostShape } from "../../model/post.ts"
import { renderDelivery, renderPostLine, shapeFor } from "../../model/render-post.ts"

/** A record of a stream: a post, and more in a stream that shows more; or what was deleted, as JSON text. */
export interface StreamRecord {
  readonly postId: PostId
  /** Absent when the stored post is damaged, or deleted. */
  readonly postJson?: string
  readonly isDeleted?: true
}

/** A format of lines. Formats are compared by identity: one line serves all connections of a format. */
export interface LineFormat<Entry extends StreamRecord = StreamRecord> {
  /** The shape in which the posts are read. */
  readonly shape: PostShape
  /** JSON text of a record whose post is whole. */
  render(entry: Entry & { readonly postJson: string }): string
}

/** The lines of X's filtered stream: the post with the fields of the selection, and the rules that it matched. */
export const deliveryFormat = formatOf<MatchEntry>(renderDelivery)

/** The lines of X's sample streams: the post with the fields of the selection. */
export const sampleFormat = formatOf<StreamRecord>(({ postJson }, selection) => renderPostLine(postJson, selection))

/** The one format of each selection. */
function formatOf<Entry extends StreamRecord>(
  render: (entry: Entry & { readonly postJson: string }, selection: FieldSelection) => string,
): (selection: FieldSelection) => LineFormat<Entry> {
  const formats = new WeakMap<FieldSelection, LineFormat<Entry>>()
  return (selection) => {
    const known = formats.get(selection)
    if (known !== undefined) return known
    const format = {
      shape: shapeFor(selection),
      render: (entry) => render(entry, selection),
    } satisfies LineFormat<Entry>
    formats.set(selection, format)
    return format
  }
}

/** The lines of X's compliance streams, which their source makes. */
export const deletionFormat: LineFormat = { shape: "core", render: ({ postJson }) => postJson }

/** The lines of `GET /sluice/v1/matches`: position and time of the match before the envelope, whole, and its rules. */
export const matchFormat: LineFormat<MatchEntry> = {
  shape: "envelope",
  render({ seq, atMs, postJson, rulesJson, rulesOmitted }) {
    const omitted = rulesOmitted === undefined ? "" : `,"matching_rules_omitted":${rulesOmitted}`
    const head = `{"position":${seq},"matched_at":"${instant(atMs)}",`
    return `${head}${postJson.slice(1, -1)},"matching_rules":${rulesJson}${omitted}}`
  },
}
