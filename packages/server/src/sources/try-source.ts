/**
 * A source tried without a server and without a store: its reader connects once, and the first records are converted as if
 * nothing was stored yet. Nothing is stored, and no position is saved.
 */
import type { Converter, Converted, KnownNames } from "../conversion/converter.ts"
import { loadConverter, type ConverterSettings } from "../conversion/converters.ts"
import type { PostId } from "../model/ids.ts"
import type { ConfiguredSource } from "./configured-sources.ts"
import { AdvisedError, type RecordReader } from "./positioned/positioned-source.ts"
import type { ReaderDeps } from "./source-kinds.ts"
import type { SourceGap, SourceNotice } from "./source.ts"
import { withoutSecrets } from "./known-secrets.ts"
import { shownMessage } from "./source-states.ts"

/** The result of converting a record. */
export type TriedRecord =
  /** The envelope as JSON text; an id that arrival would assign is `1000000000000000000`. */
  | { readonly kind: "post"; readonly envelope: string }
  /** The deletion of a post, by its name, or of a user, by their id. */
  | { readonly kind: "deletion"; readonly name: string }
  /** Nothing is to be stored as a post. */
  | { readonly kind: "skipped"; readonly reason: string }
  /** A dead letter, and why. */
  | { readonly kind: "rejected"; readonly title: string; readonly detail: string }

/** Receives what happens while a source is tried. */
export interface TrySourceListener {
  connected(to: string): void
  record(record: TriedRecord): Promise<void>
  gap(reason: string): void
  notice(text: string): void
}

/** How the trial of a source ended. */
export type TriedSource =
  /** As many records came as were wanted, or the time was over. */
  | { readonly kind: "read"; readonly records: number; readonly isConnected: boolean }
  /** Only the settings were checked: to read messages of such a broker is to take them from others. */
  | { readonly kind: "not read" }
  /** The other side cannot be read; `advice` says what the operator can do, where that is known. */
  | { readonly kind: "failed"; readonly message: string; readonly advice?: string }

/** Bounds and dependencies of a trial. */
export interface TrySourceOptions extends ReaderDeps {
  readonly recordsMax: number
  readonly msMax: number
  /** Ends the trial early. */
  readonly signal: AbortSignal
}

const nothingKnown: KnownNames = { postId: () => undefined, user: () => undefined }

/** Stands for an id that is assigned at arrival. */
const sampleId = "1000000000000000000" as PostId

/** Connects once, and converts the first records. */
export async function trySource(
  { converter: settings, createReader }: ConfiguredSource,
  { recordsMax, msMax, signal, ...deps }: TrySourceOptions,
  listener: TrySourceListener,
): Promise<TriedSource> {
  if (settings === undefined || createReader === undefined) return { kind: "not read" }
  const converter = await loadConverter(settings)
  const enough = new AbortController()
  const reading = AbortSignal.any([enough.signal, signal, AbortSignal.timeout(msMax)])
  let records = 0
  let isConnected = false
  const sink = {
    driver: 0,
    connected(to: string) {
      isConnected = true
      listener.connected(to)
    },
    async take(record: Uint8Array) {
      if (reading.aborted) return
      records += 1
      await listener.record(triedRecord(converter, Buffer.from(record).toString("utf8")))
      if (records >= recordsMax) enough.abort()
    },
    gap: async ({ reason }: SourceGap) => listener.gap(withoutSecrets(reason)),
    notice(_about: string, notice?: SourceNotice) {
      if (notice !== undefined)
        listener.notice(withoutSecrets([notice.message, notice.advice].filter(Boolean).join(" ")))
    },
    // So nothing is deleted at the source, either.
    durable: () => Promise.resolve(undefined),
  }
  let reader: RecordReader | undefined
  try {
    reader = await createReader(deps)
    await reader.read(undefined, sink, reading)
  } catch (error) {
    if (!reading.aborted) return failedBy(error)
  } finally {
    await reader?.[Symbol.asyncDispose]?.()
  }
  if (!reading.aborted) return failedBy(new Error("The source has ended the connection."))
  return { kind: "read", records, isConnected }
}

function failedBy(error: unknown): TriedSource {
  return {
    kind: "failed",
    message: shownMessage(error),
    ...(error instanceof AdvisedError && { advice: error.advice }),
  }
}

/** Converts the records of a sample, in order, as a source does. Throws `InvalidMapping`. */
export async function convertSample(
  { converter: settings, mapping }: { readonly converter: ConverterSettings; readonly mapping?: string | undefined },
  sample: string,
): Promise<readonly TriedRecord[]> {
  const converter = await loadConverter(settings)
  const records = recordsOf(sample)
  const isOfItems = settings.type === "mapped" || settings.type === "envelopes"
  const lines = isOfItems ? await (await import("./mapping/map-sample.ts")).mapSample(mapping, records) : records
  return lines.map((line) => triedRecord(converter, line))
}

/** The records of a file: items of a JSON array, a JSON value, or lines. */
function recordsOf(sample: string): readonly string[] {
  const lines = sample.split(/\r?\n/).filter((line) => line.trim() !== "")
  const value = parsed(sample)
  if (Array.isArray(value)) return value.map((item) => JSON.stringify(item))
  if (value !== undefined) return [JSON.stringify(value)]
  // A value that is written over several lines and is no JSON is one record, so that the error has its place.
  return lines.length > 1 && parsed(lines[0] ?? "") === undefined ? [sample] : lines
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function triedRecord(converter: Converter, line: string): TriedRecord {
  return shown(converter.begin(line).finish(nothingKnown))
}

function shown(converted: Converted): TriedRecord {
  switch (converted.kind) {
    case "post":
      return { kind: "post", envelope: converted.envelopeWith(converted.id ?? sampleId) }
    case "post deleted":
      return { kind: "deletion", name: converted.name }
    case "user deleted":
      return { kind: "deletion", name: converted.id }
    case "user":
      return { kind: "skipped", reason: `It is about the user ${converted.user.username}, without a post.` }
    case "ignored":
      return { kind: "skipped", reason: converted.reason }
    case "rejected":
      return { kind: "rejected", title: converted.title, detail: withoutSecrets(converted.detail) }
  }
}
