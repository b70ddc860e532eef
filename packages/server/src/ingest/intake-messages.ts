/** The messages between the main thread and the intake thread. */
import type { SkippedRules } from "../matching/rule-index.ts"
import type { IngestReport } from "./ingest-report.ts"
import type { MatchUse } from "./post-batches.ts"

/**
 * To the intake thread. `open` is the first of a body whose matches are not appended; any other begins with a chunk.
 * `abort` discards what is unread of a body; `stop` reads it, and ends the body there.
 */
export type IntakeRequest =
  | { readonly kind: "open"; readonly body: number; readonly matchUse: MatchUse }
  | { readonly kind: "chunk"; readonly body: number; readonly bytes: Uint8Array }
  | { readonly kind: "end" | "stop" | "abort"; readonly body: number }

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

/** From the intake thread. */
export type IntakeReply =
  /** Chunks that took this much memory are read. */
  | { readonly kind: "read"; readonly body: number; readonly bytes: number }
  /** A batch is durable, and chunks that took this much memory are read: one message wakes the other thread once. */
  | {
      readonly kind: "batch"
      readonly body: number
      readonly report: IngestReport
      readonly bytes: number
      readonly index: IndexNumbers
    }
  | { readonly kind: "done"; readonly body: number }
  | {
      readonly kind: "failed"
      readonly body: number
      /** Which part failed, or which bound was reached. Errors lose their class between threads. */
      readonly reason: "store" | "embeddings" | "rejected-lines" | "partial-line-bytes"
      readonly error: unknown
      /** Of a store fault. */
      readonly code?: string | undefined
    }
  | {
      readonly kind: "indexed"
      readonly index: IndexNumbers
      /** Descriptions of rules that are damaged and therefore not in the index. */
      readonly damaged: readonly string[]
    }
  | { readonly kind: "index-failed"; readonly error: unknown; readonly code: string | undefined }

/** Memory that a chunk takes between the threads in addition to its bytes. Measured: 242 bytes for a chunk of one byte. */
const chunkOverheadBytes = 256

/** Bytes of memory that a chunk takes until it is read. */
export function memoryOf(chunk: Uint8Array): number {
  return chunk.length + chunkOverheadBytes
}
