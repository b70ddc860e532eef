/** Stream connections of an app. */
import { Type, type Static } from "typebox"
import { connectionFields, connectionStates, streamEndpoints } from "../endpoints.ts"
import { connectionsEndedMax, pageSizes } from "../limits.ts"
import {
  Errors,
  exactly,
  Instant,
  listOf,
  oneOf,
  optionalInstant,
  pageSize,
  PaginationToken,
  queryOf,
} from "./common.ts"

/** Form of a UUID. Source: RFC 9562, section 4. */
const uuidPattern = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"

/** Query of `GET /2/connections`. */
export const ConnectionsQuery = queryOf({
  status: Type.Optional(oneOf(connectionStates, { default: "active" })),
  endpoints: listOf(streamEndpoints),
  max_results: pageSize(pageSizes.connections),
  pagination_token: PaginationToken,
  "connection.fields": listOf(connectionFields),
})
export type ConnectionsQuery = Static<typeof ConnectionsQuery>

/** A connection of the list. Members that `connection.fields` does not choose are absent. */
export const Connection = Type.Object({
  id: Type.Optional(Type.String({ description: "A UUID." })),
  endpoint_name: Type.Optional(Type.String({ enum: [...streamEndpoints] })),
  connected_at: Type.Optional(Instant),
  disconnected_at: optionalInstant("Absent while the connection is open."),
  disconnect_reason: Type.Optional(
    Type.String({
      description: "The disconnect_type of its last message, ClientDisconnected when the client left, or Completed.",
    }),
  ),
  client_ip: Type.Optional(
    Type.String({ description: "The address that connected to the server; that of a proxy behind one." }),
  ),
})
export type Connection = Static<typeof Connection>

/** Connections of the app, the newest first. */
export const ConnectionsBody = Type.Object({
  data: Type.Array(Connection),
  errors: Errors,
  meta: Type.Object({ result_count: Type.Integer(), next_token: Type.Optional(Type.String()) }),
})
export type ConnectionsBody = Static<typeof ConnectionsBody>

/** Body of `DELETE /2/connections`. */
export const EndConnectionsBody = exactly({
  uuids: Type.Array(Type.String({ pattern: uuidPattern }), {
    minItems: 1,
    maxItems: connectionsEndedMax,
    description: "The ids of connections.",
  }),
})
export type EndConnectionsBody = Static<typeof EndConnectionsBody>

/** Path parameters of `DELETE /2/connections/:endpoint_id`. */
export const EndpointParams = exactly({ endpoint_id: oneOf(streamEndpoints) })

/** Result of ending connections. */
export const EndedConnectionsBody = Type.Object({
  data: Type.Object({
    successful_kills: Type.Integer({ description: "Connections that were ended." }),
    failed_kills: Type.Integer({ description: "Connections that were not." }),
    results: Type.Array(
      Type.Object({ uuid: Type.String(), success: Type.Boolean(), error_message: Type.Optional(Type.String()) }),
    ),
  }),
  errors: Errors,
})
export type EndedConnectionsBody = Static<typeof EndedConnectionsBody>
