/** The operator's view of sources, and the means to pause, resume and rewind them and to repeat their dead letters. */
import type { Intake } from "../ingest/intake.ts"
import { endWith } from "../ingest/port-body.ts"
import { conflict } from "../model/problem.ts"
import { SourceSuperseded } from "../model/source-superseded.ts"
import type { SourceDeadLetter, StoredSource } from "../model/source.ts"
import { withoutCredentials } from "../runtime/masked-url.ts"
import { sourceDeadLetterRecordBytesMax } from "../store/bounds.ts"
import type { KeysetRange } from "../store/keyset-range.ts"
import type { Leases } from "../store/leases.ts"
import type { SourceReads, SourceWrites } from "../store/port/source-store.ts"
import type { ConfiguredSource, Sources } from "./configured-sources.ts"
import { withoutSecretsIn } from "./known-secrets.ts"
import { lineOf } from "./message-line.ts"
import type { SourceGap } from "./source.ts"
import type { SourceState } from "./source-states.ts"

/** The activity of a source: `elsewhere` when another process drives it. */
type SourceActivity = "running" | "connecting" | "paused" | "elsewhere"

/** A source as an operator sees it. */
export interface SeenSource {
  readonly name: string
  readonly type: string
  readonly activity: SourceActivity
  /**
   * The source's own text; a part of it that may be a credential is masked. Absent for a source whose position its broker
   * keeps, and before the first record.
   */
  readonly position?: string
  /** Unix ms. */
  readonly positionSavedAtMs?: number
  /** The state in this process. */
  readonly state: SourceState
  readonly deadLetters: number
  readonly canRewind: boolean
  /** The latest first. */
  readonly gaps: readonly (SourceGap & { readonly foundAtMs: number })[]
}

/** Why a source cannot be steered as asked: a sentence. */
export class SourceNotSteered extends Error {}

/** Dependencies of the control of sources. */
export interface SourceControlDeps {
  readonly sources: Sources
  readonly store: SourceReads & Pick<SourceWrites, "pauseSource" | "rewindSource" | "deleteSourceDeadLetters">
  readonly leases: Pick<Leases, "has">
  readonly intake: Pick<Intake, "openSource">
  /** Most bytes of a record, as ingest takes them. */
  readonly postBytesMax: number
}

/** The control of sources. Functions that take a name return `undefined` when no source has it. */
export interface SourceControl {
  list(): Promise<readonly SeenSource[]>
  source(name: string): Promise<SeenSource | undefined>
  pause(name: string): Promise<SeenSource | undefined>
  resume(name: string): Promise<SeenSource | undefined>
  /** Has a source begin again at a place. Throws `SourceNotSteered` for one that cannot. */
  rewind(name: string, to: RewindPlace): Promise<SeenSource | undefined>
  /** Dead letters of a source, the newest first. */
  deadLetters(name: string, range: KeysetRange<string>): Promise<readonly SourceDeadLetter[] | undefined>
  /**
   * Converts dead letters again, but for those of which only the beginning is kept. Those that are posts by now are stored,
   * those that are none become dead letters anew. Throws
   * `SourceNotSteered` for a source whose broker keeps them, and a `Problem` when the store is away, and when the source is
   * steered at the same time: then they are still there.
   */
  repeat(name: string, ids: readonly string[]): Promise<RepeatedLetters | undefined>
  /** Deletes dead letters. Returns how many there were. */
  discard(name: string, ids: readonly string[]): Promise<number | undefined>
}

/** The place at which a source begins again: a time, Unix ms, or a position in the source's own text. */
export type RewindPlace = { readonly atMs: number } | { readonly position: string }

/** The numbers of dead letters that were converted again, and of those of them that became dead letters anew. */
export interface RepeatedLetters {
  readonly repeated: number
  readonly rejected: number
}

/** Most dead letters that are read at a time. Ours: a few MB. */
const lettersAtOnce = 100

/** Makes the control of the sources of a server. */
export function createSourceControl(deps: SourceControlDeps): SourceControl {
  const { sources, store } = deps
  const configured = new Map(sources.configured.map((source) => [source.name, source]))
  const seen = async (): Promise<readonly SeenSource[]> => {
    const [stored, counts] = await Promise.all([store.sources(), store.sourceDeadLetterCounts()])
    const rows = new Map(stored.map((row) => [row.name, row]))
    const states = new Map(sources.states().map((state) => [state.name, state]))
    return Promise.all(
      [...configured.values()].flatMap((source) => {
        const state = states.get(source.name)
        const row = rows.get(source.name)
        const deadLetters = counts.get(source.name) ?? 0
        return state === undefined ? [] : [seenSource(source, { row, state, deadLetters }, deps)]
      }),
    )
  }
  const one = async (name: string): Promise<SeenSource | undefined> => (await seen()).find((each) => each.name === name)
  const steered = async (name: string, steer: (source: ConfiguredSource) => Promise<void>) => {
    const source = configured.get(name)
    if (source === undefined) return undefined
    await steer(source)
    return one(name)
  }
  return {
    list: seen,
    source: one,
    pause: (name) => steered(name, () => store.pauseSource(name, true)),
    resume: (name) => steered(name, () => store.pauseSource(name, false)),
    rewind: (name, to) => steered(name, (source) => store.rewindSource(name, positionOf(source, to))),
    // The intake threads, which write the details, know no secrets.
    deadLetters: async (name, range) =>
      configured.has(name)
        ? (await store.sourceDeadLetters({ ...range, source: name })).map(withoutSecretsIn)
        : undefined,
    async repeat(name, ids) {
      const source = configured.get(name)
      return source && repeatLetters(source, ids, deps)
    },
    async discard(name, ids) {
      if (!configured.has(name)) return undefined
      return (await store.deleteSourceDeadLetters(name, ids)).length
    },
  }
}

/** The position of the place. Throws `SourceNotSteered` when the source has none. */
function positionOf({ name, type, positionAt, isPosition }: ConfiguredSource, to: RewindPlace): string {
  const refused = (why: string): SourceNotSteered =>
    new SourceNotSteered(`The source ${name} cannot be rewound so: a source of the type ${type} ${why}.`)
  if ("atMs" in to) {
    if (positionAt !== undefined) return positionAt(to.atMs)
    throw refused(`has no positions by time${isPosition === undefined ? "" : "; name the position itself"}`)
  }
  if (isPosition === undefined) throw refused(`takes no position${positionAt === undefined ? "" : "; name a time"}`)
  if (!isPosition(to.position)) throw refused("has whole numbers as positions, the ids of rows")
  return to.position
}

async function seenSource(
  { name, type, isPositioned, positionAt }: ConfiguredSource,
  {
    row,
    state,
    deadLetters,
  }: { readonly row: StoredSource | undefined; readonly state: SourceState; readonly deadLetters: number },
  { leases, store }: Pick<SourceControlDeps, "leases" | "store">,
): Promise<SeenSource> {
  const isElsewhere = isPositioned && !leases.has(`source ${name}`)
  const here = state.connected === undefined ? "connecting" : "running"
  return {
    name,
    type,
    activity: row?.isPaused === true ? "paused" : isElsewhere ? "elsewhere" : here,
    ...(row?.position !== undefined && { position: shownPosition(row.position) }),
    ...(row?.savedAtMs !== undefined && { positionSavedAtMs: row.savedAtMs }),
    state,
    deadLetters,
    canRewind: positionAt !== undefined,
    gaps: isPositioned
      ? (await store.sourceGaps(name)).map(({ notedAtMs, ...gap }) => ({
          ...withoutSecretsIn(gap),
          foundAtMs: notedAtMs,
        }))
      : state.gaps,
  }
}

/** A position may be the address of a page, which may hold a token. */
function shownPosition(position: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(position) ? withoutCredentials(position) : position
}

async function repeatLetters(
  source: ConfiguredSource,
  ids: readonly string[],
  { store, intake, postBytesMax }: SourceControlDeps,
): Promise<RepeatedLetters> {
  const { name, type, converter } = source
  if (converter === undefined) {
    throw new SourceNotSteered(`The dead letters of the source ${name} are with its broker: its type is ${type}.`)
  }
  const found = await lettersOf(store, name, new Set(ids))
  // The store keeps the beginning of a record that was too long, or nothing of it.
  const letters = found.filter(({ record }) => record.length > 0 && record.length < sourceDeadLetterRecordBytesMax)
  const records = letters.length === 0 ? [] : await recordsOf(source, letters, postBytesMax)
  const driver = (await store.sources()).find((stored) => stored.name === name)?.driver
  if (letters.length === 0 || driver === undefined) return { repeated: 0, rejected: 0 }
  const body = intake.openSource({ source: { name, driver, keepsPosition: true }, converter }, () => undefined)
  const lines = records.map(lineOf).filter((line) => line !== undefined)
  const { rejectedCount } = await endWith(body, lines).catch((error: unknown) => {
    throw error instanceof SourceSuperseded ? conflict(`The source ${name} was steered meanwhile. Try again.`) : error
  })
  // Those that were rejected again have new ids.
  await store.deleteSourceDeadLetters(
    name,
    letters.map(({ id }) => id),
  )
  return { repeated: letters.length, rejected: rejectedCount }
}

/** The records of dead letters as their source gives them to its converter: items of a feed are mapped again. */
async function recordsOf(
  { createMapper }: Pick<ConfiguredSource, "createMapper">,
  letters: readonly SourceDeadLetter[],
  postBytesMax: number,
): Promise<readonly Uint8Array[]> {
  const items = letters.map(({ record }) => ({ bytes: record }))
  if (createMapper === undefined) return items.map(({ bytes }) => bytes)
  await using mapper = createMapper(postBytesMax)
  const lines: Uint8Array[] = []
  for (let at = 0; at < items.length; at += lettersAtOnce) {
    for (const { line } of await mapper.map(items.slice(at, at + lettersAtOnce))) lines.push(Buffer.from(line))
  }
  return lines
}

async function lettersOf(
  store: Pick<SourceReads, "sourceDeadLetters">,
  source: string,
  ids: ReadonlySet<string>,
): Promise<readonly SourceDeadLetter[]> {
  const found: SourceDeadLetter[] = []
  let from: string | undefined
  do {
    const range = { direction: "older", ...(from !== undefined && { from }), limit: lettersAtOnce } as const
    const page = await store.sourceDeadLetters({ ...range, source })
    found.push(...page.filter(({ id }) => ids.has(id)))
    from = page.length < lettersAtOnce ? undefined : page.at(-1)?.id
  } while (from !== undefined && found.length < ids.size)
  return found
}
