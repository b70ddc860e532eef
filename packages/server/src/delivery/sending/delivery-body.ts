/**
 * The body that delivers a match, rendered once for all links that show the same of it.
 *
 * The store returns the same entry to all who read it within a short time, and keeps it for a moment. So does the body,
 * which is a member of its entry.
 */
import type { FieldSelection } from "../../model/field-selection.ts"
import type { MatchEntry } from "../../model/match.ts"
import { renderDelivery } from "../../model/render-post.ts"

const rendered = Symbol("rendered")

/** An entry that may have been rendered. */
type RenderedEntry = MatchEntry & {
  [rendered]?: { readonly selection: FieldSelection; readonly body: Uint8Array }
}

/**
 * The body that delivers an entry, the same each time; `undefined` when the entry is damaged. Callers with the same
 * selection share it, and must not change it.
 */
export function deliveryBody(entry: RenderedEntry, selection: FieldSelection): Uint8Array | undefined {
  const { postJson, [rendered]: before } = entry
  if (postJson === undefined) return undefined
  if (before?.selection === selection) return before.body
  const body = Buffer.from(renderDelivery({ ...entry, postJson }, selection))
  entry[rendered] = { selection, body }
  return body
}
