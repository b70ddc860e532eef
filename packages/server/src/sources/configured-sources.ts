/** The sources of the settings, checked before anything starts, and run with the server. */
import { ConfigError } from "../runtime/config-error.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events/events.ts"
import { checkSource, type CheckedSource, type SourceDeps } from "./source-kinds.ts"
import { SourceStates, type SourceState } from "./source-states.ts"
import type { Environment, SourceMembers } from "./settings.ts"
import type { Source, SourcesDeps } from "./source.ts"

/** An entry of the settings. */
export interface SourceEntry {
  readonly name: string
  readonly type: string
  readonly members: SourceMembers
  /** The place of the entry, for messages. */
  readonly place: string
  /** The environment, in which it may name variables. */
  readonly env: Environment
}

/** A source as it is configured. */
export interface ConfiguredSource extends CheckedSource {
  readonly name: string
  readonly type: string
  /** The place of its entry, for messages. */
  readonly place: string
}

/** Checks all entries. Throws `ConfigError` for the first that is wrong, or that does not go with the others. */
export async function checkSources(entries: readonly SourceEntry[]): Promise<readonly ConfiguredSource[]> {
  const checked: ConfiguredSource[] = []
  for (const { name, type, members, place, env } of entries) {
    try {
      checked.push({ name, type, place, ...(await checkSource(type, members, env)) })
    } catch (error) {
      throw wrongSource(name, place, error)
    }
  }
  refuseMixedInstances(checked)
  return checked
}

function wrongSource(name: string, place: string, error: unknown): ConfigError {
  return new ConfigError(`The source ${name} (${place}) ${(error as Error).message}`, { cause: error })
}

/** Ids of posts follow from the number of their instance: each instance has one, and no two have the same. */
function refuseMixedInstances(sources: readonly ConfiguredSource[]): void {
  const seen: { readonly name: string; readonly host: string; readonly number: number }[] = []
  for (const { name, instance } of sources) {
    if (instance === undefined) continue
    const { host, number } = instance
    const other = seen.find((one) => (one.host === host) !== (one.number === number))
    if (other !== undefined) {
      throw new ConfigError(
        `The sources ${other.name} and ${name} have the hosts ${other.host} and ${host} with the numbers ${other.number} and ${number}: give each instance one number of its own, and keep it, since ids of posts follow from it.`,
      )
    }
    seen.push({ name, host, number })
  }
}

/** The sources of a server. */
export interface Sources {
  readonly configured: readonly ConfiguredSource[]
  /** Takes posts of all sources until aborted. A source that fails affects no other one. */
  run(signal: AbortSignal): Promise<void>
  /** The states in this process. */
  states(): readonly SourceState[]
}

/** Makes the sources of a server. Throws `ConfigError` for one that cannot be made. */
export async function createSources(
  configured: readonly ConfiguredSource[],
  deps: Omit<SourceDeps, "monitor"> & { readonly clock: Clock; readonly events: Events },
  more: (deps: SourcesDeps) => readonly Source[] = () => [],
): Promise<Sources> {
  const states = new SourceStates(deps)
  const made = configured.map(async ({ name, place, create }) => {
    try {
      return await create(name, { ...deps, monitor: states.monitorOf(name) })
    } catch (error) {
      throw wrongSource(name, place, error)
    }
  })
  const sources = [...(await Promise.all(made)), ...more({ ...deps, monitorOf: (name) => states.monitorOf(name) })]
  return {
    configured,
    async run(signal) {
      await Promise.all(sources.map((source) => source.run(signal)))
    },
    states: () => states.list(),
  }
}
