/**
 * The kinds of sources, by the `type` of an entry: how its settings are checked, and how it is made.
 *
 * The code of a kind and its library are loaded only when a source of that kind is configured.
 */
import { nearest } from "@sluice/rules/near-miss"
import type { ConverterSettings } from "../conversion/converters.ts"
import type { Intake } from "../ingest/intake.ts"
import type { OutboundPosture } from "../runtime/outbound/outbound-address.ts"
import type { ItemMapper } from "./mapping/item-mapper.ts"
import { createPositionedSource, type PositionedSourceDeps, type RecordReader } from "./positioned/positioned-source.ts"
import { pausable } from "./pausable-source.ts"
import { SettingsReader, type Environment, type SourceMembers } from "./settings.ts"
import type { AcknowledgedSourceDeps, Source } from "./source.ts"

/** Dependencies of a source of any kind. */
export interface SourceDeps extends AcknowledgedSourceDeps, PositionedSourceDeps {
  readonly intake: Pick<Intake, "open" | "openSource">
  /** Addresses that sources may be at. */
  readonly posture: OutboundPosture
  /** Most bytes of a record, as ingest takes them. */
  readonly postBytesMax: number
}

/** Dependencies of a reader. */
export type ReaderDeps = Pick<SourceDeps, "clock" | "posture" | "postBytesMax">

/** A source whose settings are checked. */
export interface CheckedSource {
  /** The host of a Mastodon instance and its number, from which ids of its posts follow. */
  readonly instance?: { readonly host: string; readonly number: number }
  /** Whether the store keeps its position, and one process drives it. */
  readonly isPositioned: boolean
  /** Absent for a source whose messages are acknowledged: they are envelopes. */
  readonly converter?: ConverterSettings
  /** The expression that makes posts of items. */
  readonly mapping?: string | undefined
  /** The position of a time, Unix ms; absent when positions say nothing of time. */
  readonly positionAt?: (atMs: number) => string
  /** True for a text that an operator may set as the position; absent when operators know none. */
  readonly isPosition?: (text: string) => boolean
  /** Makes the mapper of items that are kept as dead letters. Absent for a source whose records are lines as they are. */
  readonly createMapper?: (postBytesMax: number) => ItemMapper
  /** Makes a reader of its own, to try the source. Absent for a source whose messages are acknowledged. */
  readonly createReader?: (deps: ReaderDeps) => RecordReader | Promise<RecordReader>
  /** Throws an error whose message continues "The source NAME". */
  readonly create: (name: string, deps: SourceDeps) => Promise<Source>
}

/** Checks the settings of a source. Throws an error whose message continues "The source NAME". */
type CheckSource = (members: SourceMembers, env: Environment) => Promise<CheckedSource>

/** The kinds, in the order in which messages name them. */
const kinds: Readonly<Record<string, CheckSource>> = {
  async bluesky(members, env) {
    const bluesky = await import("./bluesky/bluesky-source.ts")
    const settings = bluesky.blueskySettings(members, env)
    const converter = bluesky.blueskyConversion(settings)
    const create = (deps: ReaderDeps): RecordReader => bluesky.createBlueskyReader(settings, deps)
    return { ...positioned(converter, create), positionAt: bluesky.blueskyPositionAt }
  },
  async mastodon(members, env) {
    const mastodon = await import("./mastodon/mastodon-source.ts")
    const settings = mastodon.mastodonSettings(members, env)
    const { host, number } = settings
    const converter = mastodon.mastodonConversion(settings)
    const create = (deps: ReaderDeps): RecordReader => mastodon.createMastodonReader(settings, deps)
    return { ...positioned(converter, create), instance: { host, number }, positionAt: mastodon.mastodonPositionAt }
  },
  async redis(members, env) {
    const { redisSettings } = await import("./redis-settings.ts")
    const settings = redisSettings(members, env)
    const { createRedisSource } = await import("./redis.ts")
    return acknowledged((deps) => createRedisSource(settings, deps))
  },
  async rabbitmq(members, env) {
    const { rabbitMqSettings } = await import("./rabbitmq-settings.ts")
    const settings = rabbitMqSettings(members, env)
    const { createRabbitMqSource } = await import("./rabbitmq.ts")
    return acknowledged((deps) => createRabbitMqSource(settings, deps))
  },
  async http(members, env) {
    const http = await import("./positioned/http-source.ts")
    const settings = http.readHttpSettings(new SettingsReader(members, env))
    return ofItems(settings, (deps) => http.createHttpReader(settings, deps))
  },
  async websocket(members, env) {
    const socket = await import("./positioned/websocket-source.ts")
    const settings = socket.readWebSocketSettings(new SettingsReader(members, env))
    return ofItems(settings, (deps) => socket.createWebSocketReader(settings, deps))
  },
  async outbox(members, env) {
    const { readOutboxSettings } = await import("./positioned/outbox/outbox-settings.ts")
    const settings = readOutboxSettings(new SettingsReader(members, env))
    const { createOutboxReader, isRowId } = await import("./positioned/outbox/outbox-source.ts")
    return { ...(await ofItems(settings, (deps) => createOutboxReader(settings, deps))), isPosition: isRowId }
  },
}

/** The types that an entry may have. */
const sourceTypes: readonly string[] = Object.keys(kinds)

/** Checks the settings of a source of a type. Throws an error whose message continues "The source NAME". */
export async function checkSource(type: string, members: SourceMembers, env: Environment): Promise<CheckedSource> {
  const check = Object.hasOwn(kinds, type) ? kinds[type] : undefined
  if (check === undefined) throw new Error(`has the unknown type ${type}: ${typeMeant(type)}`)
  return check(members, env)
}

function typeMeant(type: string): string {
  if (type === "nats") return "NATS has settings of the server, natsUrl and those that begin with nats."
  const near = nearest(type, sourceTypes)
  return near === undefined ? `it must be ${sourceTypes.join(", ")}.` : `did you mean ${near}?`
}

/** A source of items, which are envelopes unless a mapping makes posts of them. */
async function ofItems(
  { mapping }: { readonly mapping: string | undefined },
  createReader: (deps: ReaderDeps) => RecordReader,
): Promise<CheckedSource> {
  const { checkMapping, feedMapper } = await import("./positioned/feed-mapper.ts")
  await checkMapping(mapping)
  return {
    ...positioned({ type: mapping === undefined ? "envelopes" : "mapped" }, createReader),
    mapping,
    createMapper: (postBytesMax) => feedMapper(mapping, postBytesMax),
  }
}

/** A source of acknowledged messages, which can be paused. */
export function acknowledged(create: (deps: SourceDeps) => Source): CheckedSource {
  return { isPositioned: false, create: async (name, deps) => pausable(name, create(deps), deps) }
}

function positioned(
  converter: ConverterSettings,
  createReader: (deps: ReaderDeps) => RecordReader | Promise<RecordReader>,
): CheckedSource {
  return {
    isPositioned: true,
    converter,
    createReader,
    create: async (name, deps) => createPositionedSource(name, { reader: await createReader(deps), converter }, deps),
  }
}
