/**
 * The resources of a client, and their methods: the only table of them.
 *
 * The methods of X's operations have their names in X's own SDK (`@xdevplatform/xdk`): `get` lists, `getById` reads one.
 * Rules are the exception: X's SDK reads and changes them by its `stream`, which is a method here. Arguments, options and
 * results come from the operations (`operations.ts`).
 */
import { createMethods, type Methods } from "./methods.ts"
import type { Requests } from "./requests.ts"
import { ruleChanges, type RuleChanges } from "./rule-changes.ts"

/** The resources of a client. */
export interface Resources extends ReturnType<typeof resourcesOfX>, ReturnType<typeof ownResources> {}

/** The resources, whose methods send these requests. */
export function createResources(requests: Requests): Resources {
  const methods = createMethods(requests)
  return { ...resourcesOfX(methods, ruleChanges(requests)), ...ownResources(methods) }
}

// Two functions, not one table of data: editors show no comments for types that are mapped from others.

/** Resources of X, with further methods of ours. */
function resourcesOfX({ call, list }: Methods, changes: RuleChanges) {
  return {
    posts: {
      /** Posts of the last seven days that a query matches. A page may be short or empty; only the last has no `next_token`. */
      searchRecent: list("searchRecent"),
      /** All stored posts that a query matches, in pages as those of `searchRecent`. */
      searchAll: list("searchAll"),
      /** How many posts of the last seven days a query matches, by intervals, which ascend within a page. */
      getCountsRecent: list("countsRecent", "oldest-first"),
      /** How many stored posts a query matches, by intervals, which ascend within a page. */
      getCountsAll: list("countsAll", "oldest-first"),
      /** Up to 100 posts in the order of their ids in the request. `errors` names those that are not there. */
      getByIds: call("GET", "postsById"),
      /** A post. Without one `data` is absent, and `errors` says why. */
      getById: call("GET", "postById"),
      /** Writes a post, a reply, a quote or a newer version of a post, as the user of the token. May post twice when repeated. */
      create: call("POST", "postsById", "body"),
      /** Deletes a post of the user of the token, with all its versions. Without it `errors` says so. */
      delete: call("DELETE", "postById"),
      /** Deletes posts of any author, and users. The token is of ingest or of an operator. Ours. */
      deleteMany: call("POST", "deletions", "body"),
      /** The posts that quote a post. */
      getQuoted: list("quotes"),
      /** The reposts of a post. */
      getReposts: list("reposts"),
      /** The users who reposted a post. A page may be short or empty; only the last has no `next_token`. */
      getRepostedBy: list("reposters"),
      /**
       * Sends posts: envelopes, or NDJSON with one on each line. May be repeated, since a post that is stored counts as a
       * duplicate. The token is of an app, of ingest or of an operator. Ours.
       */
      send: call("POST", "posts", "body"),
      /** Stored posts as they were sent. Ours. */
      getStored: list("posts"),
      /** A stored post as it was sent, with its matches. Ours. */
      getStoredById: call("GET", "post"),
    },
    users: {
      /** Up to 100 users in the order of their ids in the request. `errors` names those that are not there. */
      getByIds: call("GET", "users"),
      /** A user. Without one `data` is absent, and `errors` says why. */
      getById: call("GET", "user"),
      /** Up to 100 users in the order of their usernames in the request. `errors` names those that are not there. */
      getByUsernames: call("GET", "usersBy"),
      /** A user by username, without @ and in any case. Without one `data` is absent, and `errors` says why. */
      getByUsername: call("GET", "userByUsername"),
      /** Users whose username begins with a query, or whose name has all its words. */
      search: list("userSearch"),
      /** The user for whom the token acts. Throws a 403 for an app's token. */
      getMe: call("GET", "me"),
      /** The posts of a user. */
      getPosts: list("userPosts"),
      /** The posts that mention a user. */
      getMentions: list("mentions"),
    },
    usage: {
      /** How many posts the app got, by day, and of this month. */
      get: call("GET", "usage"),
    },
    rules: {
      /** The rules of the app. */
      get: list("rules"),
      /** Adds rules. `errors` names those that were refused, also when all were. */
      add: changes.add,
      /** Deletes rules, by their ids or by their values. */
      delete: changes.delete,
      /** Deletes every rule of the app. */
      deleteAll: changes.deleteAll,
      /**
       * Makes the app's rules these, changing only what differs by value and tag, in batches. Returns the difference.
       * Throws `RuleSyncError` with what was done before, when something is refused or fails, and `TypeError` for a list
       * with a value twice.
       */
      sync: changes.sync,
      /** The number of rules, and the most that there may be. */
      getCounts: call("GET", "ruleCounts"),
      /** The rules with when they were added, how often they matched, and when last. Ours. */
      getDetails: list("ruleDetails"),
      /** Changes the tag of a rule, which keeps its id; an empty one removes it. Ours. */
      changeTag: call("PATCH", "ruleDetail", "body"),
      /** The steps that the rules cost the matcher, and the most that they may. Ours. */
      getCost: call("GET", "ruleCost"),
      /** Tests a rule on posts of the caller's, on recent ones, or on those since a time, without adding it. Ours. */
      test: call("POST", "ruleTest", "body"),
    },
    connections: {
      /** The app's stream connections: those that are open, or by `status` those of the last 7 days. */
      getConnectionHistory: list("connections"),
      /** Ends up to 100 connections by their ids. */
      deleteByUuids: call("DELETE", "connections", "body"),
      /** Ends every connection of the app, such as those that a program has left open. */
      deleteAll: call("DELETE", "allConnections"),
      /** Ends the connections to one endpoint, such as `filtered_stream`. */
      deleteByEndpoint: call("DELETE", "endpointConnections"),
    },
    webhooks: {
      /** Registers a webhook. The server sends a challenge to its URL first. */
      create: call("POST", "webhooks", "body"),
      /** The webhooks of the app, all on one page. */
      get: list("webhooks"),
      /** Deletes a webhook, and its link. */
      delete: call("DELETE", "webhook"),
      /** Sends a challenge to a webhook. A right response makes it valid again. */
      validate: call("PUT", "webhook"),
      /** Links a webhook to the stream. The options choose the fields that its deliveries show. */
      createStreamLink: call("POST", "link"),
      /** The links of the app; all of them without `max_results`. */
      getStreamLinks: list("links"),
      /** Ends the deliveries to a webhook. */
      deleteStreamLink: call("DELETE", "link"),
      /** Sends the matches of some time to a webhook once more. `replays.get` lists the progress. */
      createWebhookReplayJob: call("POST", "webhookReplay", "body"),
      /** The webhooks with the delivery status of their links. Ours. */
      getDetails: list("webhookDetails"),
      /** A webhook with the delivery status of its link. Ours. */
      getDetail: call("GET", "webhookDetail"),
      /** Names a webhook (`name`), or describes it (`description`); an empty text is removed. Ours. */
      change: call("PATCH", "webhookDetail", "body"),
      /** Sends a made-up post to a webhook, once, and returns how that ended: `outcome` is `delivered`, or why not. Ours. */
      test: call("POST", "webhookTest"),
      /** The key of a webhook's Standard Webhooks signature. Ours. */
      getSigningKey: call("GET", "signingKey"),
      /** Makes a new signing key. Until `previous_valid_until`, deliveries are signed under the one before as well. Ours. */
      rotateSigningKey: call("POST", "signingKey"),
    },
    oauth2: {
      /** A bearer token for an app's key and secret, which are `Authorization: Basic …` among the `headers`. */
      createToken: call("POST", "oauthToken", "body"),
    },
    general: {
      /** The description of every path of the server, as OpenAPI. */
      getOpenApiSpec: call("GET", "dialectOpenapi"),
      /** The same description, at a path of Sluice. Ours. */
      getServerOpenApiSpec: call("GET", "openapi"),
      /** Throws a 503 unless the server runs. Ours. */
      getHealth: call("GET", "healthz"),
      /** Throws a 503 unless the server can do its work. Ours. */
      getReadiness: call("GET", "readyz"),
      /** Metrics in the format of Prometheus. Ours. */
      getMetrics: call("GET", "metrics"),
      /** The home page, as HTML. Ours. */
      getHomePage: call("GET", "home"),
    },
  }
}

/** Resources of Sluice. */
function ownResources({ call, list }: Methods) {
  return {
    /** The deliveries of links; `webhooks` creates and deletes links. Ours. */
    links: {
      /** The delivery status of links; of all without `max_results`. */
      get: list("linkDetails"),
      /** The delivery status of a webhook's link. */
      getById: call("GET", "linkDetail"),
      /** Pauses a link or resumes it (`paused`), or sets whether it delivers one match at a time, in the order of the log (`ordered`). */
      change: call("PATCH", "linkDetail", "body"),
      /** The newest attempts over a link, on one page. */
      getAttempts: list("attempts"),
      /** An attempt with its request and its response. */
      getAttempt: call("GET", "attempt"),
    },
    /** Matches whose retries are spent. Ours. */
    deadLetters: {
      /** The dead letters of the app. */
      get: list("deadLetters"),
      /** Sends dead letters again, and returns how many. */
      redeliver: call("POST", "redeliver", "body"),
    },
    /** Matches sent again. Ours. */
    deliveries: {
      /** Sends matches again, delivered or not, by their `webhook-id`. */
      redeliver: call("POST", "redeliverMatches", "body"),
    },
    /** Replays; `webhooks.createWebhookReplayJob` creates one of the match log. Ours. */
    replays: {
      /** The replays of the app and their progress, on one page. */
      get: list("replays"),
      /** Sends a webhook the stored posts that came before rules and match them. */
      createBackfill: call("POST", "replays", "body"),
      /** Ends a replay that runs. */
      cancel: call("DELETE", "replay"),
    },
    /** The state of the server. Ours. */
    overview: {
      /** Activity and problems of the server, for one app or for all. */
      get: call("GET", "overview"),
    },
    /** Apps, for an operator's token. Ours. */
    apps: {
      /** All apps on one page, revoked ones included. */
      get: list("apps"),
      /** Creates an app. The response is the only one with its secrets, until `rotate` replaces them. */
      create: call("POST", "apps", "body"),
      /** Replaces the secrets and the token of an app. */
      rotate: call("POST", "rotateApp"),
      /** Revokes an app and its tokens. */
      revoke: call("DELETE", "app"),
      /** The limits that hold for an app. */
      getLimits: call("GET", "appLimits"),
      /** Replaces what is set for an app in place of the server's limits. */
      setLimits: call("PUT", "appLimits", "body"),
    },
    /** The limits of the app of the token. Ours. */
    limits: {
      /** The limits that hold for the app. */
      get: call("GET", "limits"),
    },
    /** Tokens, for an operator's token. Ours. */
    tokens: {
      /** All tokens on one page, by their ids. */
      get: list("tokens"),
      /** Creates a token. The response is the only one with it. */
      create: call("POST", "tokens", "body"),
      /** Revokes a token. */
      revoke: call("DELETE", "token"),
    },
    /** Sources of posts, for an operator's token. Ours. */
    sources: {
      /** All sources and their states, on one page. */
      get: list("sources"),
      /** A source and its state. */
      getByName: call("GET", "source"),
      /** Has a source take no more records, over all processes. */
      pause: call("POST", "pauseSource"),
      /** Has a source go on behind its position. */
      resume: call("POST", "resumeSource"),
      /** Has a source begin again with what it had at a time, or behind a position. Throws a 400 for one that cannot. */
      rewind: call("POST", "rewindSource", "body"),
      /** Records that could not become posts. */
      getDeadLetters: list("sourceDeadLetters"),
      /** Converts dead letters again, by their ids. */
      repeatDeadLetters: call("POST", "repeatSourceDeadLetters", "body"),
      /** Deletes dead letters, by their ids. */
      discardDeadLetters: call("POST", "discardSourceDeadLetters", "body"),
    },
    /** Sessions of a browser. Ours. */
    session: {
      /** The signed-in caller, and facts about the server. */
      get: call("GET", "session"),
      /** Signs in with a token or a code; the session is a cookie. */
      create: call("POST", "session", "body"),
      /** Signs out. */
      delete: call("DELETE", "session"),
    },
    /** Faults on demand, on a server for development only; 403 elsewhere. Ours. */
    trouble: {
      /** The troubles that are not used up, on one page. */
      get: list("troubles", "oldest-first"),
      /** Creates a trouble. */
      create: call("POST", "troubles", "body"),
      /** Clears a trouble. */
      delete: call("DELETE", "trouble"),
      /** Clears every trouble. */
      deleteAll: call("DELETE", "troubles"),
      /** Ends the stream connections of the app. */
      disconnectStreams: call("POST", "troubleDisconnect", "body"),
    },
  }
}
