/** Deletions as response bodies. */
import type { DeletionsBody, PostDeletedBody } from "@sluice/api"
import type { DeletionOutcome, DeletionRequest } from "../../model/deletion.ts"
import type { PostId } from "../../model/ids.ts"
import { notFound } from "../../model/problem.ts"
import { presentErrors } from "../problems.ts"

/** A deleted post, or that there was none. */
export function presentPostDeleted(id: PostId, wasThere: boolean): PostDeletedBody {
  return wasThere ? { data: { deleted: true } } : presentErrors([notFound("tweet", "id", id)])
}

/** How many there were of what a request deletes. */
export function presentDeletions(
  requests: readonly DeletionRequest[],
  outcomes: readonly DeletionOutcome[],
): DeletionsBody {
  const count = (kind: DeletionRequest["kind"]): number =>
    requests.filter((request, index) => request.kind === kind && outcomes[index]?.wasStored === true).length
  return { data: { posts_deleted: count("post"), users_deleted: count("user") } }
}
