/**
 * The HTTP door: Fastify over `node-server.ts`, one validator for parameters and one for bodies, one place that
 * renders refusals, and the routes.
 */
import fastifySwagger from "@fastify/swagger"
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox"
import { bodyBytesMax } from "@sluice/api"
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawServerDefault,
} from "fastify"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Registry } from "prom-client"
import type { Apps } from "../control/apps.ts"
import type { DeadLetters } from "../control/dead-letters.ts"
import type { Links } from "../control/links.ts"
import type { ReplayBook } from "../control/replay-book.ts"
import type { RuleBook } from "../control/rule-book.ts"
import type { WebhookRegistry } from "../control/webhook-registry.ts"
import type { StreamConnections } from "../delivery/stream-connections.ts"
import type { WebhookLinks } from "../delivery/webhook-links.ts"
import type { Intake } from "../ingest/intake.ts"
import { Problem } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { PageTokens } from "../timelines/page-token.ts"
import type { UserPosts } from "../timelines/user-posts.ts"
import { createGuard } from "./auth.ts"
import { compileBody } from "./body-schema.ts"
import { answerClientError, createNodeServer, endUnread, headBytesMax } from "./node-server.ts"
import { OpenConnections } from "./open-connections.ts"
import { compilePath, compileQuery, splitQuery } from "./query-parameters.ts"
import { readBody } from "./read-body.ts"
import {
  frameworkProblem,
  internalProblem,
  methodNotAllowed,
  noSuchRoute,
  plainProblem,
  problemContentType,
  renderProblem,
  retryAfterS,
  storeProblem,
} from "./render-problem.ts"
import { deadLetterRoutes } from "./routes/dead-letters.ts"
import { ingestRoutes } from "./routes/ingest.ts"
import { linkStateRoutes } from "./routes/link-states.ts"
import { linkRoutes } from "./routes/links.ts"
import { oauthRoutes } from "./routes/oauth.ts"
import { replayRoutes, replayStateRoutes } from "./routes/replays.ts"
import { ruleTestRoutes } from "./routes/rule-test.ts"
import { ruleRoutes } from "./routes/rules.ts"
import { serviceRoutes } from "./routes/service.ts"
import { streamRoutes } from "./routes/stream.ts"
import { userPostRoutes } from "./routes/user-posts.ts"
import { webhookRoutes } from "./routes/webhooks.ts"
import { rateLimitHeaders, standingHeaders } from "./standing-headers.ts"

/** What the routes need. */
export interface HttpDeps {
  readonly apps: Apps
  readonly ruleBook: RuleBook
  readonly webhookRegistry: WebhookRegistry
  readonly links: Links
  readonly webhookLinks: WebhookLinks
  readonly deadLetters: DeadLetters
  readonly replayBook: ReplayBook
  readonly streamConnections: StreamConnections
  readonly userPosts: UserPosts
  readonly pageTokens: PageTokens
  readonly intake: Intake
  readonly events: Events
  readonly clock: Clock
  readonly registry: Registry
  /** Whether an app's token may pour posts in. */
  readonly appTokensMayIngest: boolean
  /** How long a client may take to send a request's head, and a JSON body. */
  readonly requestMsMax: number
  /** How long requests under way may take to finish once the server closes; then they are cut. */
  readonly drainMsMax: number
  /** Aborted when the server begins to close: bodies without an end are to be ended, and answered. */
  readonly closing: AbortSignal
  /** Whether requests can be served now. */
  isReady(): boolean
}

/** The server with the schemas' types on its routes. */
export type HttpServer = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** A server that is ready to listen. */
export async function createHttpServer(deps: HttpDeps): Promise<HttpServer> {
  const { apps, clock, events, requestMsMax, drainMsMax } = deps
  const connections = new OpenConnections(clock)
  const server: HttpServer = Fastify({
    serverFactory(handler) {
      const nodeServer = createNodeServer(handler, { clock, requestMsMax })
      connections.follow(nodeServer)
      return nodeServer
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, clock),
    bodyLimit: bodyBytesMax,
    return503OnClosing: false,
    routerOptions: { maxParamLength: headBytesMax, querystringParser },
    rewriteUrl: originForm,
    frameworkErrors: (error, _request, reply) => {
      for (const [name, value] of Object.entries(standingHeaders(clock.nowMs())))
        void reply.header(name, value)
      void answerError(error, reply)
    },
  }).withTypeProvider<TypeBoxTypeProvider>()

  // Before Fastify stops listening and waits for every connection.
  server.addHook("preClose", (done) => {
    void connections.drain(drainMsMax)
    done()
  })

  const allowedMethods = new Map<string, Set<string>>()
  server.addHook("onRoute", ({ method, url }) => {
    const methods = allowedMethods.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    allowedMethods.set(url, methods)
  })

  server.decorateRequest("principal", null)
  server.addHook("onRequest", (request, reply, done) => {
    void reply.headers(standingHeaders(clock.nowMs()))
    done(refusalOfHead(request))
  })
  server.addHook("onResponse", (request, reply, done) => {
    if (!request.raw.complete) endUnread(request.raw, requestMsMax)
    events.requestFinished({
      method: request.method,
      route: request.routeOptions.url ?? "none",
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
    })
    done()
  })

  server.setValidatorCompiler(({ schema, httpPart, contentType }) => {
    if (httpPart === "querystring") return compileQuery(schema)
    if (httpPart === "params") return compilePath(schema)
    // Other bodies than JSON are the route's to read.
    return contentType === undefined ? compileBody(schema) : () => true
  })
  server.removeAllContentTypeParsers()
  server.addContentTypeParser(
    "application/json",
    async (_request: FastifyRequest, payload: IncomingMessage) =>
      readBody(payload, { bytesMax: bodyBytesMax, msMax: requestMsMax }),
  )
  server.setErrorHandler((error, _request, reply) => answerError(error, reply))

  function refusalOfHead(request: FastifyRequest): Problem | undefined {
    const fault = faultOfHead(request.raw)
    if (fault !== undefined) return plainProblem(400, fault)
    const path = request.url.split("?", 1)[0] ?? ""
    // The router takes `/2/webhooks/replay` with another method for a webhook of that name.
    if (!request.is404 && allowedMethods.get(path)?.has(request.method) !== false) return undefined
    const allowed = methodsOf(path, allowedMethods)
    return allowed.length === 0 ? noSuchRoute(path) : methodNotAllowed(request.method, allowed)
  }

  function answerError(error: unknown, reply: FastifyReply): FastifyReply {
    const problem =
      error instanceof Problem
        ? error
        : (storeProblem(error) ?? frameworkProblem(error, bodyTypesOf(reply.request)) ?? internalProblem())
    if (problem.status === 500) events.failed({ where: "http", error })
    return sendProblem(problem, reply)
  }

  function sendProblem(problem: Problem, reply: FastifyReply): FastifyReply {
    if (problem.status === 401) {
      for (const name of rateLimitHeaders) void reply.removeHeader(name)
      void reply.header("www-authenticate", "Bearer")
    }
    if (problem.status === 405) {
      const path = reply.request.url.split("?", 1)[0] ?? ""
      void reply.header("allow", methodsOf(path, allowedMethods).join(", "))
    }
    if (problem.status === 503) void reply.header("retry-after", String(retryAfterS(problem)))
    return reply.code(problem.status).type(problemContentType).send(renderProblem(problem))
  }

  await server.register(fastifySwagger, { openapi: description })
  await server.register(async (scope) => {
    scope.addHook("onRequest", createGuard(apps, new Set(["app"])))
    ruleRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    webhookRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    linkRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    streamRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    userPostRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    replayRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    ruleTestRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
  })
  await server.register(async (scope) => {
    scope.addHook("onRequest", createGuard(apps, new Set(["app", "operator"])))
    linkStateRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    deadLetterRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    replayStateRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
  })
  await server.register(async (scope) => {
    const appTokens = deps.appTokensMayIngest ? (["app"] as const) : []
    scope.addHook("onRequest", createGuard(apps, new Set([...appTokens, "ingest", "operator"])))
    ingestRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
  })
  await server.register(async (scope) => {
    oauthRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    serviceRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
  })
  await server.ready()
  return server
}

/** What `/openapi.json` says beside the routes. */
const description = {
  openapi: "3.1.0",
  info: {
    title: "Sluice",
    version: "0.1.0",
    description: "The filtered stream that you run yourself, in the dialect of X API v2.",
  },
  components: {
    securitySchemes: {
      bearer: { type: "http" as const, scheme: "bearer" },
      consumer: { type: "http" as const, scheme: "basic" },
    },
  },
}

/** Fastify takes any object for a query; the validators know what this one is. */
function querystringParser(text: string): Record<string, unknown> {
  return splitQuery(text) as unknown as Record<string, unknown>
}

/** The path of a request that names its whole URL. Source: RFC 9112 §3.2.2: servers take both. */
function originForm({ url = "/" }: IncomingMessage): string {
  if (url.startsWith("/")) return url
  const path = /^https?:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1]
  if (path === undefined) return url
  return path.startsWith("/") ? path : `/${path}`
}

/** What Node's parser lets through although HTTP/1.1 does not have it, or this server cannot do. Source: RFC 9112. */
function faultOfHead({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "This server speaks HTTP/1.1 and HTTP/1.0."
  if (httpVersion === "1.1" && hostCount(rawHeaders) !== 1) {
    return "A request names its host exactly once, in the header `Host`."
  }
  const coding = headers["transfer-encoding"]
  return coding === undefined || coding.toLowerCase() === "chunked"
    ? undefined
    : "The only transfer coding that this server reads is chunked."
}

function hostCount(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === "host") count += 1
  }
  return count
}

/** Content types of the bodies that a request's route reads. */
function bodyTypesOf({ routeOptions }: FastifyRequest): readonly string[] {
  const body = routeOptions?.schema?.body as { readonly content?: object } | undefined
  return body === undefined ? [] : Object.keys(body.content ?? { "application/json": {} })
}

/** Methods of the routes that have this path. */
function methodsOf(path: string, allowed: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  for (const [pattern, methods] of allowed) {
    if (patternMatches(pattern, path)) return [...methods].toSorted()
  }
  return []
}

function patternMatches(pattern: string, path: string): boolean {
  const expected = pattern.split("/")
  const given = path.split("/")
  return (
    expected.length === given.length &&
    expected.every((part, index) =>
      part.startsWith(":") ? /^\d+$/.test(given[index] ?? "") : part === given[index],
    )
  )
}
