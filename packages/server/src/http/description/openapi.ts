/**
 * The parts of `/openapi.json` that the schemas of the routes do not hold: the document's head, and each operation's id and
 * tag, from which generators make the names of methods and classes.
 */
import { paths } from "@sluice/api"
import fastifySwagger, { type FastifyDynamicSwaggerOptions } from "@fastify/swagger"
import Fastify, { type RouteOptions } from "fastify"
import { withExamples } from "./openapi-examples.ts"
import { withNamedSchemas } from "./openapi-schemas.ts"
import { schemaController } from "../input/schema-compilers.ts"
import packageJson from "../../../package.json" with { type: "json" }

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** The operations of a path. */
interface PathDescription {
  readonly tag: (typeof tags)[number]["name"]
  /** By method. X's ids where X has the operation. Source: X's OpenAPI document. */
  readonly operationIds: Partial<Readonly<Record<Method, string>>>
}

const tags = [
  { name: "Stream", description: "Rules, and the stream of matching posts." },
  { name: "Connections", description: "Stream connections of the app: those that are open, and their history." },
  { name: "Webhooks", description: "Endpoints, their links to the stream, and replays." },
  { name: "Posts", description: "Posts by their ids, searches and counts, quotes and reposts." },
  { name: "Users", description: "Users, and their posts." },
  { name: "Usage", description: "How many posts an app got, and its limits." },
  { name: "Ingest", description: "Send posts, and read stored posts." },
  {
    name: "Deliveries",
    description: "Delivery status of links, attempts, dead letters and replays. A Sluice extension.",
  },
  { name: "Trouble", description: "Faults on demand, on a server for development. A Sluice extension." },
  { name: "Apps", description: "Apps and tokens, for operators. A Sluice extension." },
  { name: "Sources", description: "Sources of posts, for operators. A Sluice extension." },
  {
    name: "Console",
    description: "Overview of activity and problems, and sessions of the console. A Sluice extension.",
  },
  { name: "General", description: "Tokens, and the server itself." },
] as const

const described: Readonly<Record<keyof typeof paths, PathDescription>> = {
  home: { tag: "General", operationIds: { GET: "getHome" } },
  oauthToken: { tag: "General", operationIds: { POST: "createToken" } },
  rules: { tag: "Stream", operationIds: { GET: "getRules", POST: "updateRules" } },
  ruleCounts: { tag: "Stream", operationIds: { GET: "getRuleCounts" } },
  stream: { tag: "Stream", operationIds: { GET: "streamPosts" } },
  sample: { tag: "Stream", operationIds: { GET: "streamPostsSample" } },
  sample10: { tag: "Stream", operationIds: { GET: "streamPostsSample10" } },
  postsCompliance: { tag: "Stream", operationIds: { GET: "streamPostsCompliance" } },
  usersCompliance: { tag: "Stream", operationIds: { GET: "streamUsersCompliance" } },
  connections: {
    tag: "Connections",
    operationIds: { GET: "getConnectionHistory", DELETE: "deleteConnectionsByUuids" },
  },
  allConnections: { tag: "Connections", operationIds: { DELETE: "deleteAllConnections" } },
  endpointConnections: { tag: "Connections", operationIds: { DELETE: "deleteConnectionsByEndpoint" } },
  links: { tag: "Webhooks", operationIds: { GET: "getWebhooksStreamLinks" } },
  link: {
    tag: "Webhooks",
    operationIds: { POST: "createWebhooksStreamLink", DELETE: "deleteWebhooksStreamLink" },
  },
  webhooks: { tag: "Webhooks", operationIds: { GET: "getWebhooks", POST: "createWebhooks" } },
  webhook: { tag: "Webhooks", operationIds: { PUT: "validateWebhooks", DELETE: "deleteWebhooks" } },
  postsById: { tag: "Posts", operationIds: { GET: "getPostsByIds", POST: "createPosts" } },
  postById: { tag: "Posts", operationIds: { GET: "getPostsById", DELETE: "deletePosts" } },
  deletions: { tag: "Posts", operationIds: { POST: "createDeletions" } },
  searchRecent: { tag: "Posts", operationIds: { GET: "searchPostsRecent" } },
  searchAll: { tag: "Posts", operationIds: { GET: "searchPostsAll" } },
  countsRecent: { tag: "Posts", operationIds: { GET: "getPostsCountsRecent" } },
  countsAll: { tag: "Posts", operationIds: { GET: "getPostsCountsAll" } },
  usage: { tag: "Usage", operationIds: { GET: "getUsage" } },
  quotes: { tag: "Posts", operationIds: { GET: "getPostsQuotedPosts" } },
  reposts: { tag: "Posts", operationIds: { GET: "getPostsReposts" } },
  reposters: { tag: "Posts", operationIds: { GET: "getPostsRepostedBy" } },
  mentions: { tag: "Users", operationIds: { GET: "getUsersMentions" } },
  users: { tag: "Users", operationIds: { GET: "getUsersByIds" } },
  user: { tag: "Users", operationIds: { GET: "getUsersById" } },
  usersBy: { tag: "Users", operationIds: { GET: "getUsersByUsernames" } },
  userByUsername: { tag: "Users", operationIds: { GET: "getUsersByUsername" } },
  userSearch: { tag: "Users", operationIds: { GET: "searchUsers" } },
  me: { tag: "Users", operationIds: { GET: "getUsersMe" } },
  userPosts: { tag: "Users", operationIds: { GET: "getUsersPosts" } },
  posts: { tag: "Ingest", operationIds: { GET: "getStoredPosts", POST: "ingestPosts" } },
  post: { tag: "Ingest", operationIds: { GET: "getStoredPost" } },
  ruleDetails: { tag: "Stream", operationIds: { GET: "getRuleStates" } },
  ruleDetail: { tag: "Stream", operationIds: { PATCH: "updateRuleTag" } },
  matches: { tag: "Stream", operationIds: { GET: "streamMatches" } },
  linkDetails: { tag: "Deliveries", operationIds: { GET: "getLinkStates" } },
  linkDetail: { tag: "Deliveries", operationIds: { GET: "getLinkState", PATCH: "updateLink" } },
  attempts: { tag: "Deliveries", operationIds: { GET: "getLinkAttempts" } },
  attempt: { tag: "Deliveries", operationIds: { GET: "getLinkAttempt" } },
  deadLetters: { tag: "Deliveries", operationIds: { GET: "getDeadLetters" } },
  redeliver: { tag: "Deliveries", operationIds: { POST: "redeliverDeadLetters" } },
  redeliverMatches: { tag: "Deliveries", operationIds: { POST: "redeliverMatches" } },
  replays: { tag: "Deliveries", operationIds: { GET: "getReplays", POST: "createBackfill" } },
  replay: { tag: "Deliveries", operationIds: { DELETE: "cancelReplay" } },
  webhookReplay: { tag: "Webhooks", operationIds: { POST: "createWebhookReplayJob" } },
  webhookDetails: { tag: "Deliveries", operationIds: { GET: "getWebhookStates" } },
  webhookDetail: { tag: "Deliveries", operationIds: { GET: "getWebhookState", PATCH: "updateWebhook" } },
  webhookTest: { tag: "Webhooks", operationIds: { POST: "testWebhook" } },
  signingKey: { tag: "Webhooks", operationIds: { GET: "getSigningKey", POST: "rotateSigningKey" } },
  ruleCost: { tag: "Stream", operationIds: { GET: "getRuleCost" } },
  ruleTest: { tag: "Stream", operationIds: { POST: "testRule" } },
  troubles: {
    tag: "Trouble",
    operationIds: { GET: "getTroubles", POST: "addTrouble", DELETE: "clearTroubles" },
  },
  trouble: { tag: "Trouble", operationIds: { DELETE: "clearTrouble" } },
  troubleDisconnect: { tag: "Trouble", operationIds: { POST: "disconnectStreams" } },
  overview: { tag: "Console", operationIds: { GET: "getOverview" } },
  apps: { tag: "Apps", operationIds: { GET: "getApps", POST: "createApp" } },
  app: { tag: "Apps", operationIds: { DELETE: "revokeApp" } },
  rotateApp: { tag: "Apps", operationIds: { POST: "rotateApp" } },
  appLimits: { tag: "Apps", operationIds: { GET: "getAppLimits", PUT: "setAppLimits" } },
  limits: { tag: "Usage", operationIds: { GET: "getLimits" } },
  tokens: { tag: "Apps", operationIds: { GET: "getTokens", POST: "createServerToken" } },
  token: { tag: "Apps", operationIds: { DELETE: "revokeToken" } },
  session: { tag: "Console", operationIds: { GET: "getSession", POST: "createSession", DELETE: "deleteSession" } },
  sources: { tag: "Sources", operationIds: { GET: "getSources" } },
  source: { tag: "Sources", operationIds: { GET: "getSource" } },
  pauseSource: { tag: "Sources", operationIds: { POST: "pauseSource" } },
  resumeSource: { tag: "Sources", operationIds: { POST: "resumeSource" } },
  rewindSource: { tag: "Sources", operationIds: { POST: "rewindSource" } },
  sourceDeadLetters: { tag: "Sources", operationIds: { GET: "getSourceDeadLetters" } },
  repeatSourceDeadLetters: { tag: "Sources", operationIds: { POST: "repeatSourceDeadLetters" } },
  discardSourceDeadLetters: { tag: "Sources", operationIds: { POST: "discardSourceDeadLetters" } },
  openapi: { tag: "General", operationIds: { GET: "getOpenApi" } },
  dialectOpenapi: { tag: "General", operationIds: { GET: "getOpenApiSpec" } },
  healthz: { tag: "General", operationIds: { GET: "getHealth" } },
  readyz: { tag: "General", operationIds: { GET: "getReadiness" } },
  metrics: { tag: "General", operationIds: { GET: "getMetrics" } },
}

const byPath: ReadonlyMap<string, PathDescription> = new Map(
  Object.entries(described).map(([name, description]) => [paths[name as keyof typeof paths], description]),
)

/** The description of a route. */
export type DescribedRoute = Pick<RouteOptions, "method" | "url" | "schema">

/** The options of `@fastify/swagger`. A route without `security` is open. */
const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: "3.1.0",
    info: {
      title: "Sluice",
      version: packageJson.version,
      description: "The filtered stream that you run yourself, in the dialect of X API v2.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers: [{ url: "/", description: "The server that serves this document." }],
    tags: [...tags],
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        consumer: { type: "http", scheme: "basic" },
      },
    },
  },
  transform: ({ schema, url, route }) => {
    const { tag, operationIds } = byPath.get(url) ?? { operationIds: {} }
    const operationId = operationIds[String(route.method) as Method]
    const security = schema.security ?? []
    return {
      url,
      schema: { ...schema, security, ...(tag && { tags: [tag] }), ...(operationId && { operationId }) },
    }
  },
}

/** The document of these routes as it is served: with named schemas, and an example of every JSON body. */
export async function openApiDocument(routes: readonly DescribedRoute[]): Promise<Record<string, unknown>> {
  // A server of its own, which never listens: the plugin sees only routes that are added after it.
  const server = Fastify({ schemaController })
  server.setValidatorCompiler(() => () => true)
  server.setSerializerCompiler(() => JSON.stringify)
  await server.register(fastifySwagger, openApiOptions)
  // Fastify adds HEAD by itself.
  for (const route of routes.filter(({ method }) => method !== "HEAD")) {
    server.route({ ...route, handler: async () => undefined })
  }
  await server.ready()
  return withNamedSchemas(withExamples(server.swagger()))
}
