/** Commands that open a store themselves, whether a server runs on it or not. */
import { existsSync } from "node:fs"
import type { Config } from "./config.ts"
import { createApps, type Apps } from "./control/apps.ts"
import { resealSecrets, type Resealed } from "./control/reseal-secrets.ts"
import { systemClock as clock } from "./runtime/clock.ts"
import { ConfigError } from "./runtime/config-error.ts"
import { armCrashPoint, crashPoint } from "./runtime/crash-points.ts"
import { sourcePostureOf } from "./runtime/outbound/outbound-address.ts"
import { systemRandom as random } from "./runtime/random.ts"
import { createSecretBox } from "./runtime/secret-box.ts"
import { createSnowflakes } from "./runtime/snowflakes.ts"
import { checkSources, type ConfiguredSource } from "./sources/configured-sources.ts"
import {
  convertSample,
  trySource,
  type TriedRecord,
  type TriedSource,
  type TrySourceListener,
  type TrySourceOptions,
} from "./sources/try-source.ts"
import type { ReaderDeps } from "./sources/source-kinds.ts"
import { ensureDirectory, keyFile, lockFiles, refuseLostStore } from "./startup/data-directory.ts"
import { adoptNextKey, masterKey, nextMasterKey } from "./startup/master-key.ts"
import { startFault } from "./startup/start-fault.ts"
import { otherKey, storeKeyOf } from "./startup/store-key.ts"
import type { StoreEngine, StoreFiles } from "./store/engine.ts"
import { chooseEpoch, type NewEpoch } from "./store/epochs.ts"
import { storeEngineOf, type StoreSettings } from "./store/open.ts"
import { DataDirectoryInUse } from "./store/store-faults.ts"

/** Apps and tokens of a store, whether a server runs on it or not. Throws `ConfigError` when it or its key cannot be used. */
export async function openApps(config: KeyedStore): Promise<{ apps: Apps } & AsyncDisposable> {
  return onStore(config, (engine) => openAppsOf(config, engine))
}

/** Works on the store of the settings. Its faults are thrown as those of a start are. */
async function onStore<Result>(config: StoreSettings, work: (engine: StoreEngine) => Promise<Result>): Promise<Result> {
  const engine = storeEngineOf(config)
  return work(engine).catch((error: unknown) => {
    throw startFault(engine.place, error)
  })
}

/** The source of a name, as the settings list it, checked. Throws `ConfigError` when it is not there, or is not in order. */
async function listedSource(config: Config, name: string): Promise<ConfiguredSource> {
  const [source] = await checkSources(config.sources.filter((entry) => entry.name === name))
  if (source !== undefined) return source
  const names = config.sources.map((entry) => entry.name)
  const known = names.length === 0 ? "it lists none" : `it lists ${names.join(", ")}`
  throw new ConfigError(`The configuration has no source ${name}: ${known}.`)
}

/** Tries a source of the settings without a server: see `sources/try-source.ts`. Throws `ConfigError`. */
export async function tryListedSource(
  config: Config,
  name: string,
  options: Omit<TrySourceOptions, keyof ReaderDeps>,
  listener: TrySourceListener,
): Promise<TriedSource> {
  const source = await listedSource(config, name)
  return trySource(
    source,
    { ...options, clock, posture: sourcePostureOf(config), postBytesMax: config.postBytesMax },
    listener,
  )
}

/** Converts a sample as a source of the settings would. Throws `ConfigError`, also for a source that converts nothing. */
export async function convertListedSample(
  config: Config,
  name: string,
  sample: string,
): Promise<readonly TriedRecord[]> {
  const source = await listedSource(config, name)
  const { converter, mapping } = source
  if (converter === undefined) {
    throw new ConfigError(`The messages of the source ${name}, of the type ${source.type}, are envelopes as they are.`)
  }
  return convertSample({ converter, mapping }, sample)
}

/** The settings of a store that is opened with its key. */
type KeyedStore = StoreSettings & Pick<Config, "masterKey">

async function openAppsOf(config: KeyedStore, engine: StoreEngine): Promise<{ apps: Apps } & AsyncDisposable> {
  if (engine.files !== undefined) {
    ensureDirectory(engine.files)
    refuseLostStore(engine.files, { isNew: false })
  }
  const canMakeKey = await mayMakeKey(config, engine)
  // A server of an earlier version would find its rows damaged once they are as this version writes them.
  using _lock = engine.files?.isOutdated() === true ? lockFiles(engine.files, { isNew: false }) : undefined
  await using resources = new AsyncDisposableStack()
  const store = resources.use(await engine.open())
  const { secretBox } = await storeKeyOf(config, store, random, { mayMakeKey: canMakeKey })
  const snowflakes = createSnowflakes(clock, random, { after: await store.lastId() })
  const apps = createApps({ store, secretBox, snowflakes, clock, random })
  const opened = resources.move()
  return { apps, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Longest wait for the key that a server which is just starting makes. Ours. */
const keyMsMax = 3_000

/** Time between two looks for it. Ours. */
const keyPollMs = 50

/**
 * Whether a command may make the key of the store: not while a server runs that may have it in its settings. One that is
 * just starting may be about to make it.
 */
async function mayMakeKey({ data, masterKey: setting }: KeyedStore, { files }: StoreEngine): Promise<boolean> {
  if (files === undefined || setting !== undefined) return true
  for (let waitedMs = 0; waitedMs < keyMsMax; waitedMs += keyPollMs) {
    if (!files.find().exists || files.isEmpty() || existsSync(keyFile(data)) || !isServed(files)) return true
    await clock.sleep(keyPollMs)
  }
  return false
}

function isServed(files: StoreFiles): boolean {
  try {
    files.lock()[Symbol.dispose]()
    return false
  } catch (error) {
    if (error instanceof DataDirectoryInUse) return true
    throw error
  }
}

/**
 * Begins an epoch in a store that is a copy and does not know it, on which no server runs. Throws `ConfigError` or
 * `DataDirectoryInUse`; then nothing has changed.
 */
export async function markRestored(config: StoreSettings): Promise<Pick<NewEpoch, "epoch">> {
  return onStore(config, async (engine) => {
    const { place, files } = engine
    if (files?.find().exists === false) throw new ConfigError(`The ${place} holds no store.`)
    using _lock = files && lockFiles(files, { isNew: false })
    await using store = await engine.open()
    const next = chooseEpoch(clock, random)
    await store.beginEpoch(next)
    return { epoch: next.epoch }
  })
}

/** The result of a rotation of the master key. */
export interface RotatedMasterKey extends Resealed {
  /** Place of the old key, for backups made before; absent when it came from the settings. */
  readonly oldKeyIsAt?: string
}

/**
 * Replaces the master key of a store on which no server runs: by `newKey` when the key is from the settings, else by
 * one that is made here and takes the place of the key file. The same call completes a rotation that was cut short.
 * Throws `ConfigError` or `DataDirectoryInUse`; then nothing has changed.
 */
export async function rotateMasterKey(
  config: KeyedStore & Pick<Config, "crashPoint">,
  newKey: string | undefined,
): Promise<RotatedMasterKey> {
  return onStore(config, (engine) => rotateMasterKeyOf(config, newKey, engine))
}

async function rotateMasterKeyOf(
  config: KeyedStore & Pick<Config, "crashPoint">,
  newKey: string | undefined,
  engine: StoreEngine,
): Promise<RotatedMasterKey> {
  const { data, masterKey: setting } = config
  armCrashPoint(config.crashPoint)
  using _lock = engine.files && lockFiles(engine.files, { isNew: false })
  await using store = await engine.open()
  const current = masterKey(data, setting, random, { mayCreate: false })
  if (setting === undefined && newKey !== undefined) throw unusedNewKey(data)
  const next = setting === undefined ? nextMasterKey(data, random) : newMasterKey(newKey, setting)
  const [from, to] = [createSecretBox(current, random), createSecretBox(next, random)]
  const [app] = await store.apps()
  const isResealed = app !== undefined && to.opens(app.consumerSecretSealed)
  const damaged = await store.damagedRecords()
  if (damaged.length > 0) {
    throw new ConfigError(`The store is damaged (${damaged[0]}). Run \`sluice doctor\`, and rotate the key afterwards.`)
  }
  if (!isResealed && app !== undefined && !from.opens(app.consumerSecretSealed)) throw otherKey()
  const resealed = await resealSecrets({ store, from: isResealed ? to : from, to, clock })
  crashPoint("in-rotation")
  return { ...resealed, ...(setting === undefined && { oldKeyIsAt: adoptNextKey(data, clock.nowMs()) }) }
}

/** Refused rather than ignored: an operator who gives a key believes that it is the new one. */
function unusedNewKey(data: string): ConfigError {
  return new ConfigError(
    `SLUICE_NEW_MASTER_KEY is set, but the master key is in ${keyFile(data)}, and its successor is made here. Unset ` +
      "SLUICE_NEW_MASTER_KEY, or set SLUICE_MASTER_KEY to the present key as well and keep both out of the directory.",
  )
}

/** The key of a rotation whose old key is from the settings. */
function newMasterKey(text: string | undefined, current: string): Uint8Array {
  if (text === undefined) {
    throw new ConfigError(
      "The master key is from the settings (masterKey), so the new one has to be given, too: set SLUICE_NEW_MASTER_KEY " +
        "to 64 hexadecimal digits, for example of `openssl rand -hex 32`.",
    )
  }
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw new ConfigError("SLUICE_NEW_MASTER_KEY must be 64 hexadecimal digits.")
  if (text.toLowerCase() === current.toLowerCase()) {
    throw new ConfigError("SLUICE_NEW_MASTER_KEY is the key that the store has already.")
  }
  return Buffer.from(text, "hex")
}
