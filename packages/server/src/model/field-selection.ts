/** Which fields of each kind of object a caller wants to see, and which related objects beside the posts. */
import {
  defaultFields,
  expandedFields,
  expansionAliases,
  expansions,
  mediaFields,
  placeFields,
  pollFields,
  postFieldAliases,
  postFields,
  selectionParameters,
  userFields,
  type Expansion,
} from "@sluice/api"
import { invalidRequests } from "./problem.ts"

/** Names by which fields and expansions are known, the older ones throughout. The defaults are always among them. */
export interface FieldSelection {
  readonly post: ReadonlySet<string>
  readonly user: ReadonlySet<string>
  readonly media: ReadonlySet<string>
  readonly place: ReadonlySet<string>
  readonly poll: ReadonlySet<string>
  readonly expansions: ReadonlySet<string>
  /** True when a post shows its default fields and nothing stands beside it. */
  readonly isDefault: boolean
}

/** What is shown when nothing is asked. */
export const defaultSelection: FieldSelection = {
  post: new Set(defaultFields.post),
  user: new Set(defaultFields.user),
  media: new Set(defaultFields.media),
  place: new Set(defaultFields.place),
  poll: new Set(defaultFields.poll),
  expansions: new Set(),
  isDefault: true,
}

type SelectionParameter = (typeof selectionParameters)[number]

interface Vocabulary {
  readonly chooses: Exclude<keyof FieldSelection, "isDefault">
  readonly names: readonly string[]
  readonly aliases: Readonly<Record<string, string>>
}

const ofPosts: Vocabulary = { chooses: "post", names: postFields, aliases: postFieldAliases }

const vocabularies: Readonly<Record<SelectionParameter, Vocabulary>> = {
  "tweet.fields": ofPosts,
  "post.fields": ofPosts,
  "user.fields": { chooses: "user", names: userFields, aliases: {} },
  "media.fields": { chooses: "media", names: mediaFields, aliases: {} },
  "place.fields": { chooses: "place", names: placeFields, aliases: {} },
  "poll.fields": { chooses: "poll", names: pollFields, aliases: {} },
  expansions: { chooses: "expansions", names: expansions, aliases: expansionAliases },
}

/** Faults that one answer lists: a request of 16 KiB could hold thousands. Ours. */
const faultsMax = 10

/** Characters of a wrong value that an answer repeats. Ours. */
const shownCharactersMax = 100

interface Fault {
  readonly message: string
  readonly parameters: Readonly<Record<string, readonly string[]>>
}

/**
 * The selection that decoded query parameters ask for, each a list with commas; others than
 * `selectionParameters` are not looked at. `tweet.fields` and `post.fields` are the same thing and add up.
 * Throws an invalid-request `Problem` that names every parameter and value (the first ten) that is unknown,
 * empty or given twice in its list.
 */
export function parseSelection(parameters: Readonly<Partial<Record<string, string>>>): FieldSelection {
  const faults: Fault[] = []
  const asked = { post: [], user: [], media: [], place: [], poll: [], expansions: [] } as Record<
    Vocabulary["chooses"],
    string[]
  >
  for (const parameter of selectionParameters) {
    const list = Object.hasOwn(parameters, parameter) ? parameters[parameter] : undefined
    if (list === undefined) continue
    const { chooses } = vocabularies[parameter]
    asked[chooses].push(...readList(parameter, list, faults))
  }
  if (faults.length > 0) throw invalidRequests(faults)
  return theSame(selectionOf(asked))
}

/** One object for all who ask for the same fields: what was rendered for one of them serves the others. */
function theSame(selection: FieldSelection): FieldSelection {
  if (selection.isDefault) return defaultSelection
  const key = Object.values(selection)
    .map((part: ReadonlySet<string> | boolean) =>
      typeof part === "boolean" ? "" : [...part].toSorted().join(),
    )
    .join(" ")
  const known = selections.get(key)
  if (known !== undefined) return known
  if (selections.size >= selectionsMax) selections.clear()
  selections.set(key, selection)
  return selection
}

const selections = new Map<string, FieldSelection>()

/** Most selections that are remembered. Ours. */
const selectionsMax = 1_000

/** The values of one parameter, by their older names. Adds to `faults`. */
function readList(parameter: SelectionParameter, list: string, faults: Fault[]): string[] {
  const { names, aliases } = vocabularies[parameter]
  const seen = new Set<string>()
  for (const value of list.split(",")) {
    if (faults.length === faultsMax) break
    if (seen.has(value)) faults.push(repeated(parameter, value))
    else if (!names.includes(value) && !Object.hasOwn(aliases, value))
      faults.push(unknown(parameter, value, names))
    seen.add(value)
  }
  return [...seen].map((value) => (Object.hasOwn(aliases, value) ? (aliases[value] ?? value) : value))
}

function unknown(parameter: string, value: string, names: readonly string[]): Fault {
  const shown = value.slice(0, shownCharactersMax)
  return {
    message: `The \`${parameter}\` query parameter value [${shown}] is not one of [${names.join(",")}]`,
    parameters: { [parameter]: [shown] },
  }
}

function repeated(parameter: string, value: string): Fault {
  const shown = value.slice(0, shownCharactersMax)
  return {
    message: `The \`${parameter}\` query parameter value [${shown}] is given more than once`,
    parameters: { [parameter]: [shown] },
  }
}

function selectionOf(asked: Readonly<Record<Vocabulary["chooses"], readonly string[]>>): FieldSelection {
  const followed = asked.expansions.flatMap((name) => expandedFieldOf(name) ?? [])
  const post = new Set<string>([...defaultFields.post, ...asked.post, ...followed])
  return {
    post,
    user: new Set([...defaultFields.user, ...asked.user]),
    media: new Set([...defaultFields.media, ...asked.media]),
    place: new Set([...defaultFields.place, ...asked.place]),
    poll: new Set([...defaultFields.poll, ...asked.poll]),
    expansions: new Set(asked.expansions),
    // Fields of users and their like show only on what an expansion brings in.
    isDefault: post.size === defaultFields.post.length && asked.expansions.length === 0,
  }
}

function expandedFieldOf(expansion: string): string | undefined {
  return Object.hasOwn(expandedFields, expansion) ? expandedFields[expansion as Expansion] : undefined
}
