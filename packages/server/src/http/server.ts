/**
 * The HTTP server: Fastify over `node-server.ts`, one validator for parameters and one for bodies, one place that
 * renders errors, and the routes.
 */
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox"
import { bodyBytesMax } from "@sluice/api"
import Fastify from "fastify"
import { AllowedMethods } from "./allowed-methods.ts"
import { ApiDescription } from "./description/api-description.ts"
import { createGuard } from "./auth.ts"
import { BodyBudget } from "./input/body-budget.ts"
import { addBodyParsers } from "./input/body-parsers.ts"
import { BodyReader } from "./input/body-reader.ts"
import { compileBody } from "./input/body-validator.ts"
import { Callers } from "./callers.ts"
import { corsReply } from "./cors.ts"
import { defaultHeaders } from "./default-headers.ts"
import type { HttpDeps, HttpServer } from "./deps.ts"
import { createLimitsHook } from "./limits.ts"
import { createErrorReply } from "./error-replies.ts"
import { respondToClientError, createNodeServer, endUnread } from "./connections/node-server.ts"
import { compilePath, compileQuery, pathParametersOf, splitQuery } from "./parameters.ts"
import { hasNoBody, headBytesMax, headProblem, originForm } from "./input/request-head.ts"
import { appRoutes } from "./routes/apps.ts"
import { consoleRoutes } from "./routes/console.ts"
import { connectionRoutes } from "./routes/connections.ts"
import { deadLetterRoutes } from "./routes/dead-letters.ts"
import { ingestRoutes } from "./routes/ingest.ts"
import { linkStateRoutes } from "./routes/link-details.ts"
import { linkRoutes } from "./routes/links.ts"
import { metricsRoutes } from "./routes/metrics.ts"
import { oauthRoutes } from "./routes/oauth.ts"
import { postByIdRoutes } from "./routes/posts-by-id.ts"
import { redeliveryRoutes } from "./routes/redeliveries.ts"
import { overviewRoutes } from "./routes/overview.ts"
import { replayRoutes, replayStateRoutes } from "./routes/replays.ts"
import { ruleStateRoutes } from "./routes/rule-details.ts"
import { ruleTestRoutes } from "./routes/rule-test.ts"
import { ruleRoutes } from "./routes/rules.ts"
import { schemaController } from "./input/schema-compilers.ts"
import { relatedPostRoutes } from "./routes/related-posts.ts"
import { searchRoutes } from "./routes/search.ts"
import { serviceRoutes } from "./routes/service.ts"
import { sessionRoutes, signInRoutes } from "./routes/session.ts"
import { storedPostRoutes } from "./routes/stored-posts.ts"
import { streamRoutes } from "./routes/stream.ts"
import { troubleRoutes } from "./routes/trouble.ts"
import { deletionRoutes, ownPostDeletionRoutes } from "./routes/deletions.ts"
import { writtenPostRoutes } from "./routes/written-posts.ts"
import { userPostRoutes } from "./routes/user-posts.ts"
import { sourceRoutes } from "./routes/sources.ts"
import { appLimitsRoutes, ownLimitsRoutes, usageRoutes } from "./routes/usage.ts"
import { meRoutes, userRoutes } from "./routes/users.ts"
import { webhookStateRoutes } from "./routes/webhook-details.ts"
import { webhookRoutes } from "./routes/webhooks.ts"

/** Builds the server of the API, ready to listen. */
export function createHttpServer(deps: HttpDeps): Promise<HttpServer> {
  const description = new ApiDescription()
  return buildServer(deps, async (server, shared) => {
    server.addHook("onRoute", (route) => description.add(route))
    await registerRoutes(server, { ...deps, ...shared, description })
  })
}

/** Builds a server for `/metrics` alone, ready to listen on a port of its own. */
export function createMetricsServer(
  deps: ServerDeps & Pick<HttpDeps, "metrics" | "metricsToken">,
): Promise<HttpServer> {
  return buildServer(deps, async (server) => metricsRoutes(server, deps))
}

/** Dependencies of every server, with any routes. */
type ServerDeps = Pick<
  HttpDeps,
  "clock" | "events" | "connections" | "rounds" | "requestMsMax" | "drainMsMax" | "corsOrigins"
>

/** Parts that all requests of a server share, on any route. */
interface SharedByRequests {
  readonly callers: Callers
  readonly bodies: BodyReader
}

async function buildServer(
  deps: ServerDeps,
  addRoutes: (server: HttpServer, shared: SharedByRequests) => Promise<void>,
): Promise<HttpServer> {
  const { clock, connections, rounds, requestMsMax, drainMsMax } = deps
  const callers = new Callers()
  const bodies = new BodyReader({ budget: new BodyBudget(), callers, msMax: requestMsMax })
  const allowedMethods = new AllowedMethods()
  const errorReply = createErrorReply({ ...deps, allowedMethods })
  const server: HttpServer = Fastify({
    serverFactory: (handler) => createNodeServer(handler, { clock, connections, callers, rounds, requestMsMax }),
    clientErrorHandler: (error, socket) => respondToClientError(error, socket, { clock, connections }),
    bodyLimit: bodyBytesMax,
    return503OnClosing: false,
    routerOptions: { maxParamLength: headBytesMax, querystringParser },
    rewriteUrl: originForm,
    schemaController,
    frameworkErrors: (error, _request, reply) => {
      for (const [name, value] of Object.entries(defaultHeaders(clock.nowMs()))) void reply.header(name, value)
      void errorReply(error, reply)
    },
  }).withTypeProvider<TypeBoxTypeProvider>()

  server.setErrorHandler((error, _request, reply) => errorReply(error, reply))
  server.addHook("onRoute", (route) => allowedMethods.add(route))
  // Before Fastify stops listening and waits for every connection.
  server.addHook("preClose", async () => {
    await connections.drain(drainMsMax)
    connections.close()
  })
  addRequestHooks(server, deps, allowedMethods)
  addBodyParsers(server, bodies)
  server.setValidatorCompiler(({ schema, httpPart, contentType, url }) => {
    if (httpPart === "querystring") return compileQuery(schema, pathParametersOf(url))
    if (httpPart === "params") return compilePath(schema)
    // A route validates bodies other than JSON itself.
    return contentType === undefined ? compileBody(schema) : () => true
  })
  // The schemas of responses are for the description. To compile all of them would take longer than all else here.
  server.setSerializerCompiler(() => JSON.stringify)
  await addRoutes(server, { callers, bodies })
  await server.ready()
  return server
}

/** Fastify accepts any object as a query; the validators know this one. */
function querystringParser(text: string): Record<string, unknown> {
  return splitQuery(text) as unknown as Record<string, unknown>
}

function addRequestHooks(
  server: HttpServer,
  { clock, events, requestMsMax, corsOrigins }: ServerDeps,
  allowedMethods: AllowedMethods,
): void {
  server.decorateRequest("principal", null)
  server.decorateRequest("session", null)
  server.addHook("onRequest", (request, reply, done) => {
    void reply.headers(defaultHeaders(clock.nowMs()))
    const cors = corsOrigins && corsReply(request.raw, corsOrigins)
    if (cors !== undefined) void reply.headers(cors.headers)
    if (cors?.isPreflight === true) {
      void reply.code(204).send()
      return
    }
    if (hasNoBody(request.raw)) delete request.raw.headers["content-type"]
    done(headProblem(request.raw) ?? allowedMethods.refusal(request))
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
}

type RouteDeps = HttpDeps & SharedByRequests & { readonly description: ApiDescription }

/** Routes that require a token of one of these kinds, or none. */
interface RouteGroup {
  readonly tokens?: Parameters<typeof createGuard>[1]
  readonly routes: readonly ((server: HttpServer, deps: RouteDeps) => void)[]
}

async function registerRoutes(server: HttpServer, deps: RouteDeps): Promise<void> {
  const { appTokensMayIngest, servesMetrics } = deps
  const limitsHook = createLimitsHook(deps)
  const groups: readonly RouteGroup[] = [
    {
      tokens: ["app"],
      routes: [
        ruleRoutes,
        ruleStateRoutes,
        webhookRoutes,
        linkRoutes,
        streamRoutes,
        connectionRoutes,
        replayRoutes,
        ruleTestRoutes,
        troubleRoutes,
        usageRoutes,
        ownLimitsRoutes,
      ],
    },
    // Reads of posts and users: a user of an app sees what the app sees.
    { tokens: ["app", "user"], routes: [postByIdRoutes, userPostRoutes, userRoutes, searchRoutes, relatedPostRoutes] },
    { tokens: ["app", "user"], routes: [writtenPostRoutes, ownPostDeletionRoutes] },
    { tokens: ["ingest", "operator"], routes: [deletionRoutes] },
    { tokens: ["user"], routes: [meRoutes] },
    {
      tokens: ["app", "operator"],
      routes: [
        linkStateRoutes,
        webhookStateRoutes,
        redeliveryRoutes,
        deadLetterRoutes,
        replayStateRoutes,
        storedPostRoutes,
        sessionRoutes,
        overviewRoutes,
      ],
    },
    { tokens: ["operator"], routes: [appRoutes, appLimitsRoutes, sourceRoutes] },
    {
      tokens: appTokensMayIngest ? ["app", "ingest", "operator"] : ["ingest", "operator"],
      routes: [ingestRoutes],
    },
    // By itself: it reads forms, and the others none.
    { routes: [oauthRoutes] },
    { routes: [serviceRoutes, signInRoutes, consoleRoutes] },
    { routes: servesMetrics ? [metricsRoutes] : [] },
  ]
  for (const { tokens, routes } of groups) {
    await server.register(async (scope) => {
      if (tokens !== undefined) {
        scope.addHook("onRequest", createGuard(deps, tokens))
        scope.addHook("onRequest", limitsHook)
      }
      for (const addRoutes of routes) addRoutes(scope.withTypeProvider<TypeBoxTypeProvider>(), deps)
    })
  }
}
