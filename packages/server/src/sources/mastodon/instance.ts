/**
 * The description of an instance: the address of its streams, the host of its accounts, and the feeds that it shows.
 *
 * Source: mastodon/documentation, "Instance"; `timelines_access` is there since Mastodon 4.5.
 */
import { filledOf, memberOf } from "../../conversion/records.ts"
import { AdvisedError } from "../positioned/positioned-source.ts"
import type { SourceNotice } from "../source.ts"
import { InstanceRefused } from "./instance-refusals.ts"
import type { InstanceRequests } from "./instance-requests.ts"
import type { MastodonStream } from "./streams.ts"

/** An instance as it describes itself. */
export interface MastodonInstance {
  /** The address of its streams, as a WebSocket. */
  readonly streamingUrl: string
  /** The host in the names of its accounts; absent when it does not say. */
  readonly accountHost: string | undefined
  /** Whom it shows a feed of statuses from here or elsewhere: `public`, `authenticated`, `disabled`; absent: anyone. */
  access(feed: string, scope: string): string | undefined
}

/** The path of the streams of an instance. */
const streamingPath = "/api/v1/streaming"

/** Asks the instance. One without a description streams at its own address. Throws an `AdvisedError` when it refuses. */
export async function describedInstance(
  requests: InstanceRequests,
  url: string,
  signal: AbortSignal,
): Promise<MastodonInstance> {
  const description = await requests.get("/api/v2/instance", {}, signal).catch((error: unknown) => {
    if (error instanceof InstanceRefused && error.status === 404) return {}
    throw error
  })
  const configuration = memberOf(description, "configuration")
  const named = filledOf(memberOf(memberOf(configuration, "urls"), "streaming"))
  const timelines = memberOf(configuration, "timelines_access")
  return {
    streamingUrl: streamingUrlOf(named, url),
    accountHost: filledOf(memberOf(description, "domain"))?.toLowerCase(),
    access: (feed, scope) => filledOf(memberOf(memberOf(timelines, feed), scope)),
  }
}

/** An instance that is read over TLS gets the token over TLS alone. */
function streamingUrlOf(named: string | undefined, url: string): string {
  const base = new URL(named !== undefined && URL.canParse(named) ? named : url)
  const streaming = base.href.replace(/^http/, "ws").replace(/\/+$/, "")
  if (url.startsWith("https:") && !streaming.startsWith("wss:")) {
    throw new AdvisedError(
      `The instance names ${base.host} for streaming, without TLS.`,
      "Sluice sends the token over TLS only. Ask the operator of the instance.",
    )
  }
  return streaming.endsWith(streamingPath) ? streaming : streaming + streamingPath
}

/** A stream that the instance does not show, wholly or in part. */
type Restriction = SourceNotice & { readonly isWhole: boolean }

/**
 * Notices on the streams that the instance keeps from this source, by their names. Throws an `AdvisedError` when without a token a stream
 * has nothing at all.
 */
export function restrictionsOf(
  instance: MastodonInstance,
  { streams, hasToken }: { readonly streams: readonly MastodonStream[]; readonly hasToken: boolean },
): ReadonlyMap<string, SourceNotice | undefined> {
  const notices = new Map<string, SourceNotice | undefined>()
  for (const stream of streams) {
    const restriction = restrictionOf(stream, instance, hasToken)
    if (restriction?.isWhole === true && !hasToken) {
      throw new AdvisedError(restriction.message, restriction.advice ?? "")
    }
    notices.set(stream.name, restriction)
  }
  return notices
}

function restrictionOf(
  { name, feed, scopes }: MastodonStream,
  instance: MastodonInstance,
  hasToken: boolean,
): Restriction | undefined {
  if (feed === undefined) return undefined
  const closed = scopes.filter((scope) => {
    const access = instance.access(feed, scope)
    return access === "disabled" || (access === "authenticated" && !hasToken)
  })
  if (closed.length === 0) return undefined
  const needsToken = closed.some((scope) => instance.access(feed, scope) === "authenticated")
  const isWhole = closed.length === scopes.length
  const kept = isWhole ? "any posts" : closed[0] === "local" ? "posts of its own accounts" : "posts of other instances"
  return {
    isWhole,
    message: needsToken
      ? `The instance shows ${kept} of the stream ${name} to accounts only.`
      : `The instance has switched the stream ${name} off for ${kept}: only deletions come.`,
    advice: needsToken
      ? "Set tokenFile or tokenVariable to a token of an account of the instance."
      : "Follow hashtags, a list or the account itself (hashtag:TAG, list:ID, user), or use a token of an account that the instance lets see its feeds.",
  }
}
