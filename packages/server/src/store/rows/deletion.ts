/** Deletions as rows. */
import type { Deletion } from "../../model/deletion.ts"
import { isTrue, type StoredBoolean } from "./record.ts"
import type { PostId, UserId } from "../../model/ids.ts"

/** Columns of a deletion. */
export const deletionColumns = "seq, kind, id, author_id, at_ms, is_pending"

/** A deletion. */
export interface DeletionRow {
  readonly seq: number
  readonly kind: Deletion["kind"]
  readonly id: string
  readonly authorId: UserId | null
  readonly atMs: number
  readonly isPending: StoredBoolean
}

/** A row as a deletion. */
export function deletionOf({ seq, kind, id, authorId, atMs, isPending }: DeletionRow): Deletion {
  const of = kind === "post" ? { kind, id: id as PostId } : { kind, id: id as UserId }
  return { ...of, seq, atMs, ...(authorId !== null && { authorId }), ...(isTrue(isPending) && { isPending: true }) }
}
