import { ownPageSizes, pathOf, paths } from "@sluice/api"
import {
  DiscardedSourceDeadLettersBody,
  RepeatedSourceDeadLettersBody,
  RewindSourceBody,
  SourceBody,
  SourceDeadLetterIdsBody,
  SourceDeadLettersBody,
  SourceDeadLettersQuery,
  SourceParams,
  SourcesBody,
} from "@sluice/api/schemas"
import { invalidRequest, notFound } from "../../model/problem.ts"
import { uuidPage } from "../../paging/uuid-page.ts"
import { SourceNotSteered, type RewindPlace } from "../../sources/source-control.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentData, presentList, presentPage } from "../present/bodies.ts"
import { presentDiscarded, presentRepeated, presentSource, presentSourceDeadLetter } from "../present/sources.ts"
import { allApps, bearerRoute } from "./route-schema.ts"

type SourceRouteDeps = Pick<HttpDeps, "sourceControl" | "pageTokens" | "clock">

/** Sources of posts, for operators. */
export function sourceRoutes(server: HttpServer, deps: SourceRouteDeps): void {
  const { sourceControl, clock } = deps

  /** GET /sluice/v1/sources: in the order of the configuration. */
  server.get(paths.sources, bearerRoute("List sources", SourcesBody), async () =>
    presentList(await sourceControl.list(), presentSource),
  )

  /** GET /sluice/v1/sources/:name */
  server.get(
    paths.source,
    bearerRoute("Get a source", SourceBody, { params: SourceParams }),
    async ({ params: { name } }) => presentData(presentSource(known(name, await sourceControl.source(name)))),
  )

  /** POST /sluice/v1/sources/:name/pause: over all processes, until it is resumed. */
  server.post(
    paths.pauseSource,
    bearerRoute("Pause a source", SourceBody, { params: SourceParams }),
    async ({ params: { name } }) => presentData(presentSource(known(name, await sourceControl.pause(name)))),
  )

  /** POST /sluice/v1/sources/:name/resume: it goes on behind its position. */
  server.post(
    paths.resumeSource,
    bearerRoute("Resume a source", SourceBody, { params: SourceParams }),
    async ({ params: { name } }) => presentData(presentSource(known(name, await sourceControl.resume(name)))),
  )

  /** POST /sluice/v1/sources/:name/rewind: begins again at a time or a position; a paused one when it is resumed. */
  server.post(
    paths.rewindSource,
    bearerRoute("Rewind a source to a time or a position", SourceBody, {
      params: SourceParams,
      body: RewindSourceBody,
    }),
    async ({ params: { name }, body }) => {
      const source = await steered(sourceControl.rewind(name, rewindPlace(body, clock.nowMs())), valuesOf(body))
      return presentData(presentSource(known(name, source)))
    },
  )

  deadLetterRoutes(server, deps)
}

/** The place that a body names. Throws a `Problem` unless it is one, and has passed. */
function rewindPlace(body: RewindSourceBody, nowMs: number): RewindPlace {
  const { to, position } = body
  if (to !== undefined && position === undefined) {
    const atMs = Date.parse(to)
    if (atMs > nowMs) throw invalidRequest(`\`to\` [${to}] is in the future.`, { to: [to] })
    return { atMs }
  }
  if (position !== undefined && to === undefined) return { position }
  throw invalidRequest("Give either `to` or `position`.", valuesOf(body))
}

function valuesOf(body: RewindSourceBody): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, [value]]))
}

function deadLetterRoutes(server: HttpServer, { sourceControl, pageTokens }: SourceRouteDeps): void {
  /** GET /sluice/v1/sources/:name/dead_letters: pages, newest first. */
  server.get(
    paths.sourceDeadLetters,
    bearerRoute("List dead letters of a source", SourceDeadLettersBody, {
      params: SourceParams,
      querystring: SourceDeadLettersQuery,
    }),
    async ({ params: { name }, query: { max_results, pagination_token: token } }) => {
      const page = await uuidPage({
        tokens: pageTokens,
        scope: { endpoint: pathOf(paths.sourceDeadLetters, { name }), appId: allApps, parameters: "" },
        token,
        limit: max_results ?? ownPageSizes.sourceDeadLetters.default,
        read: async (range) => known(name, await sourceControl.deadLetters(name, range)),
      })
      return presentPage(page, presentSourceDeadLetter)
    },
  )

  /** POST /sluice/v1/sources/:name/dead_letters/repeat */
  server.post(
    paths.repeatSourceDeadLetters,
    bearerRoute("Convert dead letters of a source again", RepeatedSourceDeadLettersBody, {
      params: SourceParams,
      body: SourceDeadLetterIdsBody,
    }),
    async ({ params: { name }, body: { ids } }) =>
      presentRepeated(known(name, await steered(sourceControl.repeat(name, ids)))),
  )

  /** POST /sluice/v1/sources/:name/dead_letters/discard */
  server.post(
    paths.discardSourceDeadLetters,
    bearerRoute("Discard dead letters of a source", DiscardedSourceDeadLettersBody, {
      params: SourceParams,
      body: SourceDeadLetterIdsBody,
    }),
    async ({ params: { name }, body: { ids } }) =>
      presentDiscarded(known(name, await sourceControl.discard(name, ids))),
  )
}

/** The result, or a 404 when no source has the name. */
function known<Result>(name: string, result: Result | undefined): Result {
  if (result === undefined) throw notFound("source", "name", name)
  return result
}

/** The result, or a 400 that says why the source cannot be steered so. */
async function steered<Result>(
  steering: Promise<Result>,
  parameters: Readonly<Record<string, readonly string[]>> = {},
): Promise<Result> {
  return steering.catch((error: unknown) => {
    throw error instanceof SourceNotSteered ? invalidRequest(error.message, parameters) : error
  })
}
