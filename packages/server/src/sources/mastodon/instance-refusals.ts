/** Why an instance gives nothing, each with what the operator can do. */
import { truncateForDisplay } from "../../model/truncate.ts"
import { filledOf, memberOf } from "../../conversion/records.ts"
import { AdvisedError } from "../positioned/positioned-source.ts"
import { SourceRefused, type Refusal } from "../positioned/refusals.ts"

/** An instance has answered with another status than 200, or with an error on an open WebSocket. */
export class InstanceRefused extends AdvisedError {
  readonly status: number

  constructor(refusal: Refusal, nowMs: number, options?: ErrorOptions) {
    const refused = new SourceRefused(refusal, nowMs)
    const said = saidIn(refusal.body)
    const words = said === undefined ? refused.message : `${refused.message} It says: ${JSON.stringify(said)}.`
    super(words, adviceOn(refusal.status) ?? refused.advice, { waitMs: refused.waitMs, ...options })
    this.status = refusal.status
  }
}

const tokenAdvice =
  "Set or check the token of the source (tokenFile, tokenVariable): it must be one of an account of this instance, with the scope read:statuses."

const advice: Readonly<Record<number, string>> = {
  401: tokenAdvice,
  403: `${tokenAdvice} The account must be confirmed and not be suspended.`,
  404: "Check the host of the source, and the lists that it reads: the account of the token must own them.",
  400: "Check the streams of the source.",
  422: tokenAdvice,
  429: "The instance limits requests, and Sluice waits as it asks. Use one source per instance, or fewer streams.",
}

function adviceOn(status: number): string | undefined {
  return advice[status]
}

/** The words of an error, which an instance writes as `{"error":"…"}`. */
function saidIn(body: string): string | undefined {
  try {
    const said = filledOf(memberOf(JSON.parse(body), "error"))
    return said === undefined ? undefined : truncateForDisplay(said)
  } catch {
    return undefined
  }
}

/** The failure to open a WebSocket, with advice that fits an instance. */
export function advisedFailure(error: unknown, host: string, nowMs: number): unknown {
  if (!(error instanceof SourceRefused)) return error
  const { status, body, waitMs } = error
  const retryAfter = waitMs === 0 ? undefined : String(Math.ceil(waitMs / 1_000))
  return new InstanceRefused({ host, status, retryAfter, body }, nowMs, { cause: error })
}
