/** The calls between the main thread and an intake thread. None of them waits for the other thread. */
import { SourceSuperseded } from "../model/source-superseded.ts"
import { keepErrorClasses, type SentError } from "../runtime/error-codec.ts"
import type { SkippedRules } from "../matching/rule-index.ts"
import type { ConverterSettings } from "../conversion/converters.ts"
import type { DrivenSource } from "./accept-records.ts"
import type { IngestReport } from "./ingest-report.ts"
import type { MatchUse } from "./post-batches.ts"

/** A body that holds the records of a source: whose, and how they become posts. */
export interface SourceBody {
  readonly source: DrivenSource
  readonly converter: ConverterSettings
}

/** Functions of an intake thread. `body` is the number of a body. */
export interface IntakeFunctions {
  /** Opens a body whose matches are not appended. Any other body opens with its first chunk. */
  open(body: number, matchUse: MatchUse): void
  /** Opens a body of records. */
  openSource(body: number, of: SourceBody): void
  chunk(body: number, bytes: Uint8Array): void
  /** Ends the body, after its last chunk if that is given: a message for both wakes the thread once. */
  end(body: number, lastChunk?: Uint8Array): void
  /** Ends the body after what was sent of it: a partial last line is discarded. */
  stop(body: number): void
  /** Discards what is unread of the body. */
  abort(body: number): void
}

/** Functions of the main thread, which the intake thread calls. */
export interface IntakeReplies {
  /** Chunks that took this much memory are read. */
  read(body: number, bytes: number): void
  /** A batch is durable. */
  batch(body: number, batch: DurableBatch): void
  /** All of the body is durable, with its last batch if there was one. */
  done(body: number, lastBatch?: DurableBatch): void
  /** With a store fault, `SourceSuperseded`, `EmbeddingsUnavailable`, `TooManyRejected` or `PartialLinesTooLarge`. */
  failed(body: number, error: SentError): void
  /** With descriptions of rules that are damaged and therefore not in the index. */
  indexed(index: IndexNumbers, damaged: readonly string[]): void
  indexFailed(error: SentError): void
}

/** A batch that is durable: one message for all of it wakes the other thread once. */
export interface DurableBatch {
  readonly report: IngestReport
  /** Memory of the chunks that are read. */
  readonly bytesRead: number
  readonly index: IndexNumbers
}

/** Too many lines of a body were rejected. Posts accepted before are durable. */
export class TooManyRejected extends Error {}

/** The body held the largest of the partial lines, which took too much memory. */
export class PartialLinesTooLarge extends Error {}

keepErrorClasses(TooManyRejected, PartialLinesTooLarge, SourceSuperseded)

/** Numbers of the rule index. */
export interface IndexNumbers {
  readonly rules: number
  readonly scanned: number
  /** Over all posts since the thread started. */
  readonly candidates: number
  /** Rules that matched and that matches do not name, over all posts since the thread started. */
  readonly omitted: number
  /** Rules that were skipped since the last message, by app. */
  readonly skipped: readonly SkippedRules[]
}

/** Memory that a chunk takes between the threads in addition to its bytes. Measured: 242 bytes for a chunk of one byte. */
const chunkOverheadBytes = 256

/** Bytes of memory that a chunk takes until it is read. */
export function memoryOf(chunk: Uint8Array): number {
  return chunk.length + chunkOverheadBytes
}
