/** The users of a post and their affiliations, and X's annotations of what the post is about, as keys. */

import { fold } from "../text/fold.ts"
import type { FieldSource } from "./field-values.ts"
import type { KeySink } from "./key-sink.ts"
import { names } from "./member-names.ts"
import type { PostObjects } from "./post-objects.ts"
import { repostPrefixLength } from "./post-parts.ts"
import type { PostView } from "./post-view.ts"

/** Adds id and username of the author. */
export function addAuthorKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  const { view, data, author } = post
  addUserKeys(view, view.id(data, names.author_id), author, "author", sink)
}

/** Adds id and username of the user replied to. */
export function addRepliedToKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  const { view, data } = post
  if (!post.isReply) return
  addUserKeys(view, view.id(data, names.in_reply_to_user_id), repliedToUser(post), "reply", sink)
}

/** Adds id and username of the reposted user. Without the user, the repost's own text begins with the name: `RT @name:`. */
export function addRepostedKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  const { view, original, references } = post
  if (!view.isPresent(references.retweeted)) return
  const id = view.id(original, names.author_id)
  const user = post.user(id)
  addUserKeys(view, id, user, "original", sink)
  if (view.isPresent(view.string(user, names.username))) return
  const text = view.string(post.data, names.text)
  const length = repostPrefixLength(post, text)
  if (length > 0) sink.addText(fold(view.text(text).slice("RT @".length, length - 1)), "original")
}

/** Adds ids and usernames of the accounts that the author is affiliated with. */
export function addAuthorAffiliationKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  addAffiliationKeys(post, post.author, "author", sink)
}

/** Adds ids and usernames of the accounts that the user replied to is affiliated with. */
export function addRepliedToAffiliationKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  if (post.isReply) addAffiliationKeys(post, repliedToUser(post), "reply", sink)
}

/** If the user is not included, a mention may carry the id and the name. */
function repliedToUser<Node>(post: PostObjects<Node>): Node {
  const { view, data } = post
  const id = view.id(data, names.in_reply_to_user_id)
  const user = post.user(id)
  if (view.isPresent(user)) return user
  const mentions = view.array(view.object(data, names.entities), names.mentions)
  for (let at = view.itemsBegin(mentions); at < view.itemsEnd(mentions); at = view.itemAfter(at)) {
    const mention = view.itemAt(mentions, at)
    const its = view.id(mention, names.id)
    if (view.isPresent(its) && view.areSame(its, id)) return mention
  }
  return view.absent
}

function addUserKeys<Node>(view: PostView<Node>, id: Node, user: Node, where: FieldSource, sink: KeySink<Node>): void {
  sink.addString(id, where)
  sink.addString(view.string(user, names.username), where)
}

/** Source: `affiliation` in X's OpenAPI document. */
function addAffiliationKeys<Node>(
  { view }: PostObjects<Node>,
  user: Node,
  where: FieldSource,
  sink: KeySink<Node>,
): void {
  const affiliation = view.object(user, names.affiliation)
  if (!view.isPresent(affiliation)) return
  const ids = new Set<string>()
  const list = view.array(affiliation, names.user_id)
  for (let at = view.itemsBegin(list); at < view.itemsEnd(list); at = view.itemAfter(at))
    ids.add(view.text(view.itemAt(list, at)))
  ids.delete("")
  for (const id of ids) sink.addText(fold(id), where)
  const users = ids.size === 0 ? view.absent : view.array(view.includes, names.users)
  for (let at = view.itemsBegin(users); at < view.itemsEnd(users); at = view.itemAfter(at)) {
    const one = view.itemAt(users, at)
    if (ids.has(view.text(view.string(one, names.id)))) sink.addString(view.string(one, names.username), where)
  }
  const url = view.text(view.string(affiliation, names.url))
  const inLink = /^https?:\/\/(?:www\.)?(?:twitter|x)\.com\/(\w+)\/?$/i.exec(url)?.[1]
  if (inLink !== undefined) sink.addText(fold(inLink), where)
}

/** Adds for each annotation the pair of domain and entity, and either half with `*` for the other. */
export function addContextKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  addContexts(post.view, post.data, sink)
  addContexts(post.view, post.original, sink)
}

/** Adds the names of annotated entities. */
export function addEntityKeys<Node>(post: PostObjects<Node>, sink: KeySink<Node>): void {
  addEntities(post.view, post.data, sink)
  addEntities(post.view, post.original, sink)
}

function addContexts<Node>(view: PostView<Node>, post: Node, sink: KeySink<Node>): void {
  sink.addPairs(view.array(post, names.context_annotations), names.domain, names.entity, "context")
}

function addEntities<Node>(view: PostView<Node>, post: Node, sink: KeySink<Node>): void {
  sink.addNames(view.array(post, names.context_annotations), names.name, "context", names.entity)
  sink.addNames(view.array(view.object(post, names.entities), names.annotations), names.normalized_text, "context")
}
