/** Apps and tokens, for operators. Ours: X has a portal for them. */
import { Type, type Static } from "typebox"
import { Id, Instant } from "./common.ts"

/** An app, without its secrets. */
export const Application = Type.Object({
  id: Id,
  name: Type.String(),
  consumer_key: Type.String(),
  created_at: Instant,
  revoked: Type.Boolean(),
})
export type Application = Static<typeof Application>

/** All apps, newest first, revoked ones included. */
export const AppsBody = Type.Object({
  data: Type.Array(Application),
  meta: Type.Object({ result_count: Type.Integer() }),
})
export type AppsBody = Static<typeof AppsBody>
