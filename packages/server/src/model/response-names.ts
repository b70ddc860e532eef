/**
 * The new names of what a response shows (`newNames` in @sluice/api): of an object's members, of the counts inside them, of
 * the lists in `includes` and of expansions. Stored objects have the old ones, and nothing is renamed within entities, notes
 * or other members. Members that X's document requires are added where they are unknown.
 */
import { newNames, requiredMembers } from "@sluice/api"
import { membersOf, objectOf } from "./json-text.ts"

/** A member of an object: its name and its JSON text. */
type Member = readonly [name: string, json: string]

/** The members of an object, by their new names. */
export type MemberNames = (member: Member) => Member

/** How the kinds of objects show their members under the new names. Kinds without an entry have no other names. */
export const newMemberNames: Readonly<Partial<Record<string, MemberNames>>> = {
  post: membersBy(byOldName(newNames.post), {
    public_metrics: completed(byOldName(newNames.postMetrics), requiredMembers.post.public_metrics),
    scopes: completed(new Map(), requiredMembers.post.scopes),
    withheld: completed(new Map(), requiredMembers.post.withheld),
  }),
  user: membersBy(byOldName(newNames.user), {
    public_metrics: completed(byOldName(newNames.userMetrics), requiredMembers.user.public_metrics),
    subscription: completed(new Map(), requiredMembers.user.subscription),
  }),
  media: membersBy(new Map(), { public_metrics: completed(new Map(), requiredMembers.media.public_metrics) }),
}

/** The new names of the lists in `includes`, by the old ones. */
export const newIncludesNames: ReadonlyMap<string, string> = byOldName(newNames.includes)

/** The new names of expansions, by the old ones. `entities.mentions.username` is called so in both vocabularies. */
export const newExpansionNames: ReadonlyMap<string, string> = byOldName({
  edit_history_post_ids: newNames.expansions.edit_history_post_ids,
  referenced_posts: newNames.expansions.referenced_posts,
  ...newNames.userExpansions,
})

function byOldName(names: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(names).map(([name, older]) => [older, name]))
}

function membersBy(
  names: ReadonlyMap<string, string>,
  completions: Readonly<Record<string, (json: string) => string>>,
): MemberNames {
  const completionOf = new Map(Object.entries(completions))
  return ([name, json]) => [names.get(name) ?? name, completionOf.get(name)?.(json) ?? json]
}

/** The text of an object with its members renamed, and those added that it must have. Any other value stays. */
function completed(
  names: ReadonlyMap<string, string>,
  required: Readonly<Record<string, unknown>>,
): (json: string) => string {
  return (json) => {
    if (!json.startsWith("{")) return json
    const members = new Map([...membersOf(json)].map(([name, value]) => [names.get(name) ?? name, value]))
    for (const [name, value] of Object.entries(required))
      if (!members.has(name)) members.set(name, JSON.stringify(value))
    return objectOf(members)
  }
}
