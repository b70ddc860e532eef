import { pageSizes, paths, type connectionStates } from "@sluice/api"
import {
  ConnectionsBody,
  ConnectionsQuery,
  EndConnectionsBody,
  EndedConnectionsBody,
  EndpointParams,
} from "@sluice/api/schemas"
import type { StreamConnection } from "../../model/connection.ts"
import { keysetPage } from "../../paging/keyset-page.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentConnections, presentEnded } from "../present/connections.ts"
import { bearerRoute, boundParameters } from "./route-schema.ts"

/** The stream connections of an app, to any process. */
export function connectionRoutes(
  server: HttpServer,
  { streamConnections, pageTokens }: Pick<HttpDeps, "streamConnections" | "pageTokens">,
): void {
  /** GET /2/connections: pages, the newest first. */
  server.get(
    paths.connections,
    bearerRoute("List stream connections", ConnectionsBody, { querystring: ConnectionsQuery }),
    async (request) => {
      const { id: appId } = appOf(request)
      const { query } = request
      const { status = "active", endpoints, max_results: limit = pageSizes.connections.default } = query
      const isOpen = openOf[status]
      const filter = { appId, ...(isOpen !== undefined && { isOpen }), ...(endpoints !== undefined && { endpoints }) }
      const page = await keysetPage<StreamConnection>({
        tokens: pageTokens,
        scope: { endpoint: paths.connections, appId, parameters: boundParameters(query) },
        token: query.pagination_token,
        limit,
        read: (range) => streamConnections.list(filter, range),
      })
      return presentConnections(page, query["connection.fields"])
    },
  )

  /** DELETE /2/connections: ends those that the body names. */
  server.delete(
    paths.connections,
    bearerRoute("End stream connections", EndedConnectionsBody, { body: EndConnectionsBody }),
    async (request) => {
      const uuids = [...new Set(request.body.uuids.map((uuid) => uuid.toLowerCase()))]
      return presentEnded(await streamConnections.end(appOf(request).id, { kind: "uuids", uuids }), uuids)
    },
  )

  /** DELETE /2/connections/all: ends every one of the app. */
  server.delete(
    paths.allConnections,
    bearerRoute("End all stream connections", EndedConnectionsBody),
    async (request) => presentEnded(await streamConnections.end(appOf(request).id, { kind: "all" })),
  )

  /** DELETE /2/connections/:endpoint_id: ends those to one endpoint. */
  server.delete(
    paths.endpointConnections,
    bearerRoute("End the stream connections to an endpoint", EndedConnectionsBody, { params: EndpointParams }),
    async (request) => {
      const { endpoint_id: endpoint } = request.params
      return presentEnded(await streamConnections.end(appOf(request).id, { kind: "endpoint", endpoint }))
    },
  )
}

/** Whether the connections of a state are open; both when absent. */
const openOf: Readonly<Record<(typeof connectionStates)[number], boolean | undefined>> = {
  active: true,
  inactive: false,
  all: undefined,
}
