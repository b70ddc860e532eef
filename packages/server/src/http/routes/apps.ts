import { paths } from "@sluice/api"
import {
  AppCredentialsBody,
  AppParams,
  AppsBody,
  CreateAppBody,
  CreatedTokenBody,
  CreateTokenBody,
  RevokedBody,
  TokenParams,
  TokensBody,
} from "@sluice/api/schemas"
import { asId, type AppId } from "../../model/ids.ts"
import { conflict, invalidRequest, notFound } from "../../model/problem.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentApp, presentNewToken, presentRevoked, presentToken } from "../present/apps.ts"
import { presentData, presentList } from "../present/bodies.ts"
import { bearerRoute } from "./route-schema.ts"

/** Apps and tokens, for operators. */
export function appRoutes(server: HttpServer, { apps }: Pick<HttpDeps, "apps">): void {
  /** GET /sluice/v1/apps: newest first, revoked ones included. */
  server.get(paths.apps, bearerRoute("List apps", AppsBody), async () => presentList(await apps.list(), presentApp))

  /** POST /sluice/v1/apps: makes one, and shows its secrets. */
  server.post(
    paths.apps,
    bearerRoute("Create an app", AppCredentialsBody, { body: CreateAppBody }),
    async ({ body }) => {
      return presentData(await apps.create(trimmedName(body.name)))
    },
  )

  /** POST /sluice/v1/apps/:id/rotate: new secrets; the old ones end at once. */
  server.post(
    paths.rotateApp,
    bearerRoute("Replace an app's credentials", AppCredentialsBody, { params: AppParams }),
    async ({ params: { id } }) => {
      await mustExist(id)
      const credentials = await apps.rotate(asId<AppId>(id))
      if (credentials === undefined) throw conflict(`App [${id}] is revoked: it has no credentials to replace.`)
      return presentData(credentials)
    },
  )

  /** DELETE /sluice/v1/apps/:id: ends its token and stops its links. False when it was revoked already. */
  server.delete(
    paths.app,
    bearerRoute("Revoke an app", RevokedBody, { params: AppParams }),
    async ({ params: { id } }) => {
      await mustExist(id)
      return presentRevoked(await apps.revoke(asId<AppId>(id)))
    },
  )

  /** GET /sluice/v1/tokens: newest first, without the tokens. */
  server.get(paths.tokens, bearerRoute("List tokens", TokensBody), async () =>
    presentList(await apps.listTokens(), presentToken),
  )

  /** POST /sluice/v1/tokens: makes one, and shows it this once. */
  server.post(
    paths.tokens,
    bearerRoute("Create a token", CreatedTokenBody, { body: CreateTokenBody }),
    async ({ body }) => {
      const wanted = tokenOf(body)
      const name = body.name === undefined ? undefined : trimmedName(body.name)
      return presentNewToken(
        wanted.kind,
        wanted.kind === "user" ? await userToken(wanted, name) : await apps.createToken(wanted.kind, name),
      )
    },
  )

  /** DELETE /sluice/v1/tokens/:token_id: ends a token of an operator, of a user or of a program that sends posts. */
  server.delete(
    paths.token,
    bearerRoute("Revoke a token", RevokedBody, { params: TokenParams }),
    async ({ params: { token_id: id } }) => {
      const token = (await apps.listTokens()).find((one) => one.id === id)
      if (token?.kind === "app")
        throw conflict(`Token [${id}] is an app's: it ends when the app is rotated or revoked.`)
      if (!(await apps.revokeToken(id))) throw notFound("token", "token_id", id)
      return presentRevoked(true)
    },
  )

  async function userToken({ appId, userId }: WantedUserToken, name: string | undefined): Promise<string> {
    await mustExist(appId, "application_id")
    const token = await apps.createUserToken(appId, userId, name)
    if (token === undefined) throw conflict(`App [${appId}] is revoked: its users get no tokens.`)
    return token
  }

  /** Throws 404 unless there is such an app; `parameter` names it. */
  async function mustExist(id: string, parameter = "id"): Promise<void> {
    if (!(await apps.list()).some((app) => app.id === id)) throw notFound("app", parameter, id)
  }
}

/** A name without space at its ends. Throws 400 for a blank one. */
function trimmedName(text: string): string {
  const name = text.trim()
  if (name === "") throw invalidRequest("name must not be blank", { name: [text] })
  return name
}

interface WantedUserToken {
  readonly kind: "user"
  readonly appId: string
  readonly userId: string
}

/** The token that a body asks for. Throws 400 for a user without an app, and for either with a token of another kind. */
function tokenOf(body: CreateTokenBody): WantedUserToken | { readonly kind: "ingest" | "operator" } {
  const { kind, application_id: appId, user_id: userId } = body
  if (kind === "user") {
    if (appId !== undefined && userId !== undefined) return { kind, appId, userId }
    const missing = appId === undefined ? "application_id" : "user_id"
    throw invalidRequest("A token of a user needs application_id and user_id", { [missing]: [] })
  }
  if (appId !== undefined || userId !== undefined) {
    throw invalidRequest(`application_id and user_id are for the kind user, not for ${kind}`, {
      ...(appId !== undefined && { application_id: [appId] }),
      ...(userId !== undefined && { user_id: [userId] }),
    })
  }
  return { kind: kind === "operator" ? "operator" : "ingest" }
}
