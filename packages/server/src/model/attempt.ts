import type { AttemptOutcome } from "@sluice/api"
import type { AttemptId, LinkId, MatchSeq } from "./ids.ts"

/** The result of one attempt to deliver. */
export interface Attempt {
  readonly linkId: LinkId
  readonly seq: MatchSeq
  /** When it began. */
  readonly atMs: number
  readonly durationMs: number
  readonly outcome: AttemptOutcome
  /** Status of the response, if there was one. */
  readonly status?: number
  /** Bytes of the body that was sent. */
  readonly bytes: number
  /** The failure in words, without the response's body. */
  readonly error?: string
  /** Absent when nothing was sent. The other headers and the body follow from the match and the time. */
  readonly signatures?: AttemptSignatures
  /** Absent when no response began, or none is kept. */
  readonly response?: AttemptResponse
}

/** The signature headers of an attempt, as they were sent. */
export interface AttemptSignatures {
  /** X's, under the consumer secret. */
  readonly x: string
  /** X's, under the client secret. Absent in attempts that an earlier version recorded. */
  readonly client?: string
  /** The Standard Webhooks signatures, one for each key. */
  readonly standard: string
}

/** The kept part of a response. */
export interface AttemptResponse {
  /** Also of a response that did not come to its end. */
  readonly status: number
  /** The first of them, as they came; of a cookie the name only. At most 2,048 characters. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Beginning of the body, as UTF-8. */
  readonly body: string
  /** Bytes of the body that came. */
  readonly bytes: number
}

/** An attempt as the store keeps it. */
export interface StoredAttempt extends Attempt {
  /** Grows with the attempts of its link, from 1 on. */
  readonly id: AttemptId
  /** Epoch of the match; absent in the first epoch of its log. */
  readonly epoch?: string
}
