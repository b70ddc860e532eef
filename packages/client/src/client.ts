/** A client of a server of the X API v2, with one token. */
import type { ComplianceBody, MatchLine } from "@sluice/api"
import { paths } from "@sluice/api/paths"
import type { Query } from "./operations.ts"
import { createRequests, type Requests } from "./requests.ts"
import { createResources, type Resources } from "./resources.ts"
import { streamLines, type StreamLine, type StreamOptions } from "./stream.ts"
import { createTransport, type ClientOptions } from "./transport.ts"

/** Requests to one server with one token: by resource, or by the name of a path. */
export interface Client extends Resources, Requests {
  readonly url: string
  /** The filtered stream, reconnected when the connection ends, without a match lost or repeated. See `StreamOptions`. */
  stream(options?: StreamOptions): AsyncGenerator<StreamLine, void, void>
  /**
   * One in a hundred of all posts, whichever rules they match, reconnected as `stream` is. A sample has no recovery, so `onGap`
   * reports a gap of more than five minutes.
   */
  streamSample(options?: StreamOptions): AsyncGenerator<StreamLine, void, void>
  /** One half of one in ten of all posts, by the `partition` in the query, 1 or 2. Reconnected as `streamSample` is. */
  streamSample10(options: StreamOptions): AsyncGenerator<StreamLine, void, void>
  /**
   * A quarter of the posts that are deleted, by the `partition` in the query, 1 to 4, for apps whose operator allows it. A
   * reconnect repeats the query: with `backfill_minutes` it loses nothing of these minutes, and repeats some.
   */
  streamPostsCompliance(options: StreamOptions): AsyncGenerator<StreamLine<ComplianceBody>, void, void>
  /** A quarter of the users that are deleted, as `streamPostsCompliance` has posts. */
  streamUsersCompliance(options: StreamOptions): AsyncGenerator<StreamLine<ComplianceBody>, void, void>
  /**
   * Matches as they come, whole and with their positions. They do not count as a stream connection of the app. A
   * reconnect repeats the query, so to lose nothing set `reconnect: false` and call this again `after` the last position.
   */
  matches(options?: StreamOptions): AsyncGenerator<StreamLine<MatchLine>, void, void>
}

/** A client of the server at `url`. */
export function createClient(options: ClientOptions): Client {
  const transport = createTransport(options)
  const connectTo = (path: string) => (query: Query | undefined, signal: AbortSignal) =>
    transport.open(path, { query, signal })
  const requests = createRequests(transport)
  return {
    ...createResources(requests),
    ...requests,
    url: options.url,
    stream: (more) => streamLines(options.url, connectTo(paths.stream), more),
    streamSample: (more) => streamLines(options.url, connectTo(paths.sample), more),
    streamSample10: (more) => streamLines(options.url, connectTo(paths.sample10), more),
    // Deletions have neither positions nor ids of their own, by which a gap could be healed.
    streamPostsCompliance: (more) =>
      streamLines(options.url, connectTo(paths.postsCompliance), { ...more, heal: false }),
    streamUsersCompliance: (more) =>
      streamLines(options.url, connectTo(paths.usersCompliance), { ...more, heal: false }),
    // Its matches have positions, which heal a gap exactly.
    matches: (more) => streamLines(options.url, connectTo(paths.matches), { ...more, heal: false }),
  }
}
