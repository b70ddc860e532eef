/** Written posts as response bodies. */
import type { CreatedPostBody } from "@sluice/api"
import type { WrittenPost } from "../../writing/post-writer.ts"

/** `{"data":{"id","text","edit_history_tweet_ids"}}`. */
export function presentWrittenPost({ id, text, chain }: WrittenPost): CreatedPostBody {
  return { data: { id, text, edit_history_tweet_ids: [...chain] } }
}
