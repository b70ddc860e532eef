/** The fields of each kind of object that a caller selects, and the related objects to include. */
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
import { LRUCache } from "lru-cache"
import { invalidRequests, type RequestFault } from "./problem.ts"
import { truncate } from "./truncate.ts"

/** Names by which fields and expansions are known, the older ones throughout. The defaults are always among them. */
export interface FieldSelection {
  readonly post: ReadonlySet<string>
  readonly user: ReadonlySet<string>
  readonly media: ReadonlySet<string>
  readonly place: ReadonlySet<string>
  readonly poll: ReadonlySet<string>
  readonly expansions: ReadonlySet<string>
  /** True when a post shows its default fields, and no included objects. */
  readonly isDefault: boolean
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

/** Most faults that a response lists: a request of 16 KiB could hold thousands. Ours. */
const faultsMax = 10

/** Names by kind of object, as in the parameters. */
type RequestedFields = Record<Vocabulary["chooses"], string[]>

function nothingRequested(): RequestedFields {
  return { post: [], user: [], media: [], place: [], poll: [], expansions: [] }
}

/** The selection of a request that names no fields and no expansions. */
export const defaultSelection: FieldSelection = selectionOf(nothingRequested())

/**
 * The selection of decoded query parameters, each a comma-separated list. Parameters other than
 * `selectionParameters` are ignored. `tweet.fields` and `post.fields` mean the same and add up. Equal selections are the
 * same object. Throws an invalid-request `Problem` that names every parameter and value (the first ten) that is unknown,
 * empty or given twice in its list.
 */
export function parseSelection(parameters: Readonly<Partial<Record<string, string>>>): FieldSelection {
  const faults: RequestFault[] = []
  const requested = nothingRequested()
  for (const parameter of selectionParameters) {
    const list = Object.hasOwn(parameters, parameter) ? parameters[parameter] : undefined
    if (list === undefined) continue
    const { chooses } = vocabularies[parameter]
    requested[chooses].push(...readList(parameter, list, faults))
  }
  if (faults.length > 0) throw invalidRequests(faults)
  return interned(selectionOf(requested))
}

/** One object for all equal selections, so that what was rendered for one connection serves the others. */
function interned(selection: FieldSelection): FieldSelection {
  if (selection.isDefault) return defaultSelection
  const key = Object.values(selection)
    .map((part: ReadonlySet<string> | boolean) => (typeof part === "boolean" ? "" : [...part].toSorted().join()))
    .join(" ")
  const known = selections.get(key) ?? selection
  selections.set(key, known)
  return known
}

/** Ours: far more than the links and connections of a server differ in. */
const selections = new LRUCache<string, FieldSelection>({ max: 1_000 })

/** The values of one parameter, by their older names. Adds to `faults`. */
function readList(parameter: SelectionParameter, list: string, faults: RequestFault[]): string[] {
  const { names, aliases } = vocabularies[parameter]
  const seen = new Set<string>()
  for (const value of list.split(",")) {
    if (faults.length === faultsMax) break
    if (seen.has(value)) faults.push(faultOf(parameter, value, "is given more than once"))
    else if (!names.includes(value) && !Object.hasOwn(aliases, value))
      faults.push(faultOf(parameter, value, `is not one of [${names.join(",")}]`))
    seen.add(value)
  }
  return [...seen].map((value) => (Object.hasOwn(aliases, value) ? (aliases[value] ?? value) : value))
}

function faultOf(parameter: string, value: string, what: string): RequestFault {
  const shown = truncate(value)
  return {
    message: `The \`${parameter}\` query parameter value [${shown}] ${what}`,
    parameters: { [parameter]: [shown] },
  }
}

/** The default fields are always shown. An expansion shows the field that it follows as well. */
function selectionOf(requested: RequestedFields): FieldSelection {
  const followed = requested.expansions.flatMap((name) => expandedFieldOf(name) ?? [])
  const post = new Set<string>([...defaultFields.post, ...requested.post, ...followed])
  return {
    post,
    user: new Set([...defaultFields.user, ...requested.user]),
    media: new Set([...defaultFields.media, ...requested.media]),
    place: new Set([...defaultFields.place, ...requested.place]),
    poll: new Set([...defaultFields.poll, ...requested.poll]),
    expansions: new Set(requested.expansions),
    // Fields of users and their like show only on what an expansion brings in.
    isDefault: post.size === defaultFields.post.length && requested.expansions.length === 0,
  }
}

function expandedFieldOf(expansion: string): string | undefined {
  return Object.hasOwn(expandedFields, expansion) ? expandedFields[expansion as Expansion] : undefined
}
