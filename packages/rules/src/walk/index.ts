/**
 * Posts straight from the bytes of their lines, for `RuleMatcher.matchWalked` and for programs that take posts in. An entry
 * of its own, so that pages that only try rules do not load it.
 */

export { jsonKind } from "./walk-layout.ts"
export { names } from "../post/member-names.ts"
export { WalkedPost } from "./walked-post.ts"
