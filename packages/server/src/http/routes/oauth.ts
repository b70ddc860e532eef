import { paths, problemTypes } from "@sluice/api"
import { TokenBody, TokenForm, TokenQuery } from "@sluice/api/schemas"
import type { FastifyRequest } from "fastify"
import type { IncomingMessage } from "node:http"
import { Problem } from "../../model/problem.ts"
import { basicCredentials } from "../auth.ts"
import type { BodyReader } from "../input/body-reader.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentBearerToken } from "../present/apps.ts"
import { problemResponses } from "./route-schema.ts"

const formType = "application/x-www-form-urlencoded"

/** Maximum size of the form. Ours: a form of this route has about 30 bytes. */
const formBytesMax = 8_192

/** The route on which an app gets its bearer token. */
export function oauthRoutes(
  server: HttpServer,
  { apps, bodies }: Pick<HttpDeps, "apps"> & { readonly bodies: BodyReader },
): void {
  server.removeContentTypeParser("application/json")
  server.addContentTypeParser(formType, async (_request: FastifyRequest, payload: IncomingMessage) =>
    bodies.read(payload, { bytesMax: formBytesMax }),
  )

  /**
   * POST /oauth2/token: the bearer token of the app whose consumer key and secret come by HTTP Basic. `grant_type`
   * stands in the form, or in the query string, where TwitterAPI puts it.
   */
  server.post(
    paths.oauthToken,
    {
      schema: {
        summary: "Get an app's bearer token",
        security: [{ consumer: [] }],
        querystring: TokenQuery,
        body: { content: { [formType]: { schema: TokenForm } } },
        response: { 200: TokenBody, ...problemResponses },
      },
    },
    async (request) => {
      const body: unknown = request.body
      const form = new URLSearchParams(Buffer.isBuffer(body) ? body.toString("utf8") : "")
      const { grant_type: inQuery } = request.query
      const grantTypes = [...form.getAll("grant_type"), ...(inQuery === undefined ? [] : [inQuery])]
      if (grantTypes.length === 0) throw missingGrantType()
      if (grantTypes.length > 1 || grantTypes[0] !== "client_credentials") throw wrongCredentials()
      const credentials = basicCredentials(request.raw)
      const token = credentials && (await apps.bearerToken(credentials.key, credentials.secret))
      if (token === undefined) throw wrongCredentials()
      return presentBearerToken(token)
    },
  )
}

/** Source: X's responses to POST /oauth2/token, as public client code quotes them. */
function wrongCredentials(): Problem {
  return forbidden(99, "Unable to verify your credentials", "authenticity_token_error")
}

/** Source: as above. */
function missingGrantType(): Problem {
  return forbidden(170, "Missing required parameter: grant_type", "forbidden_missing_parameter")
}

function forbidden(code: number, message: string, label: string): Problem {
  return new Problem({
    status: 403,
    type: problemTypes.blank,
    title: "Forbidden",
    detail: message,
    causes: [{ code, message, label }],
  })
}
