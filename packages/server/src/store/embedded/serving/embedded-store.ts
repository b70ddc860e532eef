/**
 * The embedded store: one SQLite file.
 *
 * It is opened in one of two ways that behave the same. Directly, with both connections in this thread: by its
 * writer (`writer-thread.ts`), the command and the tests. Or with its writes through a port to the writer: by the
 * threads of the server, which must never wait for a flush of the disk.
 */
import type { MessagePort } from "node:worker_threads"
import { systemClock, type Clock } from "../../../runtime/clock.ts"
import type { FairRounds } from "../../../runtime/fair-rounds.ts"
import type { Store, StoreChange, StoreReads, StoreWrites } from "../../store.ts"
import { arrivalsOf, ChangeListeners } from "../../change-listeners.ts"
import type { StoreFailed } from "../../store-faults.ts"
import { arrivals, FollowedLogs, type AnnouncedChange, type LogKey } from "./appended-entries.ts"
import { defaultCacheBytes, openForReading, openForWriting } from "../connection/database.ts"
import { GroupCommit } from "./group-commit.ts"
import { createRecentMatches } from "../nouns/match-logs.ts"
import { ControlCount, knownRuleChanges } from "./known-changes.ts"
import { ReadFaults } from "../connection/read-faults.ts"
import { createReads } from "./reads.ts"
import type { RecentMatches, RecentSettings } from "./recent-matches.ts"
import { writeNames, type SyncWrites } from "./sync-store.ts"
import { allChanges, writesThrough } from "./write-port.ts"
import { createWrites } from "./writes.ts"

/** Settings of an embedded store. */
export interface EmbeddedStoreSettings {
  readonly file: string
  /** Most bytes that each of its connections keeps of the file's pages, and what reads keep of matches. */
  readonly cacheBytes?: number
  /** For the time of gap markers, and for the turns of reads. The machine's own unless given. */
  readonly clock?: Clock
  /** Counts the control changes of the writer for its other threads. */
  readonly controlCount?: ControlCount
  /** The rounds of this thread, where requests begin in it. */
  readonly rounds?: FairRounds
  /** Called when the disk has failed and the process has to end. Unless given, the thread ends with the error. */
  readonly failed?: (error: StoreFailed) => void
}

/** The writing side of a store alone. Its announcements hold what is appended to the logs that are `followed`. */
export interface WritableStore extends StoreWrites, Pick<Store, "onChange" | typeof Symbol.asyncDispose> {
  readonly followed: FollowedLogs
}

/** How long a start waits until it is known why it cannot read its store. Ours: it is ended by that anyway. */
const startWaitMsMax = 10_000

/** Returns the result of `open`. When it cannot read the file, throws the error that names the unreadable place. */
async function openNaming<Opened>(file: string, open: (faults: ReadFaults) => Opened): Promise<Opened> {
  const faults = new ReadFaults(file)
  return faults.naming(() => open(faults), { waitMs: startWaitMsMax })
}

/** Opens the store in this thread, and creates it when the file is not there. */
export function openEmbeddedStore(settings: EmbeddedStoreSettings): Promise<Store & WritableStore> {
  return openNaming(settings.file, (faults) => {
    using opening = new DisposableStack()
    const writes = openWrites(settings, faults, opening)
    const { followed } = writes
    const setFollowed = (log: LogKey, isFollowed: boolean): void =>
      isFollowed ? followed.add(log) : followed.delete(log)
    const { reads, recent } = openReads(settings, { setFollowed, faults }, opening)
    writes.onChange((change) => recent.onAnnounced(change))
    return { ...reads, ...writes, onArrival: arrivalsOf(writes), ...disposable(opening.move()) }
  })
}

/** Opens the writing side of the store in this thread, and creates it when the file is not there. */
export function openToWrite(settings: EmbeddedStoreSettings): Promise<WritableStore> {
  return openNaming(settings.file, (faults) => {
    using opening = new DisposableStack()
    return { ...openWrites(settings, faults, opening), ...disposable(opening.move()) }
  })
}

/** The reads of a connection that is opened for them, and closed with `opening`; and the matches that they remember. */
function openReads(
  { file, cacheBytes = defaultCacheBytes, clock = systemClock, rounds }: EmbeddedStoreSettings,
  { setFollowed, faults }: { readonly setFollowed?: RecentSettings["setFollowed"]; readonly faults: ReadFaults },
  opening: DisposableStack,
): { readonly reads: StoreReads; readonly recent: RecentMatches } {
  const db = opening.use(openForReading(file, { cacheBytes }))
  const recent = createRecentMatches(db, { keptBytesMax: cacheBytes, setFollowed })
  return { reads: createReads(db, { recent, clock, rounds, faults }), recent }
}

/** The writing side of a connection that is opened for it, and closed with `opening`. */
function openWrites(
  {
    file,
    cacheBytes = defaultCacheBytes,
    clock = systemClock,
    controlCount,
    failed = endThread,
  }: EmbeddedStoreSettings,
  faults: ReadFaults,
  opening: DisposableStack,
): Omit<WritableStore, typeof Symbol.asyncDispose> {
  const followed = new FollowedLogs()
  const { announce, onChange } = announcements(opening)
  const writer = opening.use(openForWriting(file, { cacheBytes }))
  const groupCommit = new GroupCommit(writer, { failed, clock })
  let noted: AnnouncedChange[] = []
  const writes = createWrites(writer, { announce: (change) => noted.push(change), followed, clock })
  const grouped = Object.fromEntries(
    writeNames.filter(isTransaction).map((name) => {
      const write = writes[name] as (...args: readonly unknown[]) => unknown
      const committed = async (...args: readonly unknown[]): Promise<unknown> => {
        const posts = name === "append" ? (args[0] as readonly unknown[]).length : 0
        // A write's changes go with its result: one that is undone, or tried again, has announced nothing.
        const attempt = (): { result: unknown; changes: readonly AnnouncedChange[] } => {
          noted = []
          return { result: write(...args), changes: noted }
        }
        const { result, changes } = await faults.naming(() => groupCommit.run(attempt, { posts }))
        if (changes.some(({ kind }) => kind === "control")) controlCount?.raise()
        for (const change of changes) announce(change)
        return result
      }
      return [name, committed]
    }),
  ) as unknown as StoreWrites
  opening.defer(() => groupCommit.close())
  const eraseDeleted = (): Promise<boolean> => faults.naming(async () => groupCommit.emptyLog())
  return { ...grouped, eraseDeleted, followed, onChange }
}

/** Whether a write is a transaction: all are, but for the one that empties the log, which cannot be. */
function isTransaction(name: keyof StoreWrites): name is keyof SyncWrites {
  return name !== "eraseDeleted"
}

/** Time between two checks for control changes that other processes made, such as `sluice app revoke`. Ours. */
const controlPollMs = 1_000

/**
 * Opens the store that another thread has open, and writes through it. The port is closed with the store. It announces
 * what other processes have changed in control too, within a second. The other thread announces changes of
 * `changeKinds`.
 */
export function openEmbeddedStoreThrough(
  port: MessagePort,
  {
    changeKinds = allChanges,
    controlCount,
    ...settings
  }: Omit<EmbeddedStoreSettings, "failed"> & { readonly changeKinds?: readonly StoreChange["kind"][] },
): Promise<Store> {
  return openNaming(settings.file, (faults) => {
    using opening = new DisposableStack()
    opening.defer(() => port.close())
    const { announce, onChange } = announcements(opening)
    const hearsMatches = changeKinds.includes("matches")
    const { writes, follow } = writesThrough(port, announce)
    const setFollowed = hearsMatches ? follow : undefined
    const { reads, recent } = openReads(settings, { setFollowed, faults }, opening)
    onChange((change) => recent.onAnnounced(change))
    const closed = new AbortController()
    opening.defer(() => closed.abort())
    void watchControl(reads, settings.clock ?? systemClock, announce, closed.signal)
    const known = controlCount && { ruleChanges: knownRuleChanges(reads, controlCount, onChange) }
    const onArrival = followedArrivals(onChange, (isFollowed) => follow(arrivals, isFollowed))
    return { ...reads, ...writes, ...known, onChange, onArrival, ...disposable(opening.move()) }
  })
}

/**
 * Announces a change whenever the control version is another one. This process's own changes are announced once more.
 */
async function watchControl(
  reads: Pick<Store, "controlVersion">,
  clock: Clock,
  announce: (change: StoreChange) => void,
  signal: AbortSignal,
): Promise<void> {
  let seen: number | undefined
  while (!signal.aborted) {
    try {
      const version = await reads.controlVersion()
      if (seen !== undefined && version !== seen) announce({ kind: "control" })
      seen = version
    } catch {
      // Callers that read more than this meet the failure, and report it.
    }
    await clock.sleep(controlPollMs, signal)
  }
}

/** The arrivals of a store whose writer announces all of them only while they are followed. */
function followedArrivals(onChange: Store["onChange"], follow: (isFollowed: boolean) => void): Store["onArrival"] {
  const onArrival = arrivalsOf({ onChange })
  const listeners = new Set<() => void>()
  return (listener) => {
    const stopListening = onArrival(listener)
    if (listeners.size === 0) follow(true)
    listeners.add(stopListening)
    return () => {
      stopListening()
      if (listeners.delete(stopListening) && listeners.size === 0) follow(false)
    }
  }
}

/** Opens the reading side of a store that exists, alone. */
export function openToRead({ file }: { file: string }): Promise<StoreReads & AsyncDisposable> {
  return openNaming(file, (faults) => {
    using opening = new DisposableStack()
    const { reads } = openReads({ file }, { faults }, opening)
    return { ...reads, ...disposable(opening.move()) }
  })
}

/** Those who listen to a store's changes until it is closed. */
function announcements(opening: DisposableStack): ChangeListeners<AnnouncedChange> {
  const listeners = new ChangeListeners<AnnouncedChange>()
  opening.defer(() => listeners.clear())
  return listeners
}

function disposable(opened: Disposable): AsyncDisposable {
  return { [Symbol.asyncDispose]: async () => opened[Symbol.dispose]() }
}

/** The error cannot be caught: it ends the thread and the process. */
function endThread(error: StoreFailed): void {
  setImmediate(() => {
    throw error
  })
}
