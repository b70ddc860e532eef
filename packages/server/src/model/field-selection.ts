/** The fields of each kind of object that a caller selects, and the related objects to include. */
import {
  defaultFields,
  expandedFields,
  selectableNames,
  selectionParameters,
  type Expansion,
  type SelectableNames,
  type SelectionParameter,
  type Vocabulary,
} from "@sluice/api"
import { LRUCache } from "lru-cache"
import { listReader, nameReader, type TextReader } from "./parameter-text.ts"
import { invalidParameters, type RequestFault } from "./problem.ts"

/** Names by which fields and expansions are known, the older ones throughout. The defaults are always among them. */
export interface FieldSelection {
  readonly post: ReadonlySet<string>
  readonly user: ReadonlySet<string>
  readonly media: ReadonlySet<string>
  readonly place: ReadonlySet<string>
  readonly poll: ReadonlySet<string>
  readonly expansions: ReadonlySet<string>
  /** The names under which they are shown. */
  readonly vocabulary: Vocabulary
  /** True when a post shows its default fields as they are stored, and no included objects. */
  readonly isDefault: boolean
}

/** Most faults that a response lists: a request of 16 KiB could hold thousands. Ours. */
const faultsMax = 10

/** Names by kind of object, as in the parameters. */
type RequestedFields = Record<SelectableNames["chooses"], string[]>

function nothingRequested(): RequestedFields {
  return { post: [], user: [], media: [], place: [], poll: [], expansions: [] }
}

/** The selection of a request that names no fields and no expansions. */
export const defaultSelection: FieldSelection = selectionOf(nothingRequested(), "old")

const readers = new Map<SelectionParameter, TextReader<readonly string[]>>(
  selectionParameters.map((parameter) => {
    const { listed, meanings } = selectableNames[parameter]
    const bounds = { valuesMin: 1, valuesMax: Infinity, isUnique: true }
    return [parameter, listReader(bounds, nameReader(Object.keys(meanings), listed))]
  }),
)

/**
 * The selection of decoded query parameters, each a comma-separated list. Parameters other than
 * `selectionParameters` are ignored. `tweet.fields` and `post.fields` mean the same and add up; `vocabulary` alone decides
 * under which names the objects are shown. Equal selections are the same object. Throws an invalid-request `Problem` that
 * names every parameter and value (the first ten) that is unknown, empty or given twice in its list.
 */
export function parseSelection(
  parameters: Readonly<Partial<Record<string, string>>>,
  vocabulary: Vocabulary = "old",
): FieldSelection {
  const faults: RequestFault[] = []
  const requested = nothingRequested()
  for (const [parameter, read] of readers) {
    const list = Object.hasOwn(parameters, parameter) ? parameters[parameter] : undefined
    if (list === undefined) continue
    const outcome = read(list, parameter)
    if ("faults" in outcome) {
      faults.push(...outcome.faults.map((fault) => ({ ...fault, parameters: { [parameter]: [list] } })))
      continue
    }
    const { chooses, meanings }: SelectableNames = selectableNames[parameter]
    requested[chooses].push(...outcome.value.map((name) => meanings[name] ?? name))
  }
  if (faults.length > 0) throw invalidParameters(faults.slice(0, faultsMax))
  return interned(selectionOf(requested, vocabulary))
}

/** One object for all equal selections, so that what was rendered for one connection serves the others. */
function interned(selection: FieldSelection): FieldSelection {
  if (selection.isDefault) return defaultSelection
  const key = Object.values(selection)
    .map((part: ReadonlySet<string> | Vocabulary | boolean) =>
      typeof part === "object" ? [...part].toSorted().join() : String(part),
    )
    .join(" ")
  const known = selections.get(key) ?? selection
  selections.set(key, known)
  return known
}

/** Ours: far more than the links and connections of a server differ in. */
const selections = new LRUCache<string, FieldSelection>({ max: 1_000 })

/** The default fields are always shown. An expansion shows the field that it follows as well. */
function selectionOf(requested: RequestedFields, vocabulary: Vocabulary): FieldSelection {
  const followed = requested.expansions.flatMap((name) => expandedFieldOf(name) ?? [])
  const post = new Set<string>([...defaultFields.post, ...requested.post, ...followed])
  return {
    post,
    user: new Set([...defaultFields.user, ...requested.user]),
    media: new Set([...defaultFields.media, ...requested.media]),
    place: new Set([...defaultFields.place, ...requested.place]),
    poll: new Set([...defaultFields.poll, ...requested.poll]),
    expansions: new Set(requested.expansions),
    vocabulary,
    // Fields of users and their like show only on what an expansion brings in.
    isDefault: post.size === defaultFields.post.length && requested.expansions.length === 0 && vocabulary === "old",
  }
}

function expandedFieldOf(expansion: string): string | undefined {
  return Object.hasOwn(expandedFields, expansion) ? expandedFields[expansion as Expansion] : undefined
}
