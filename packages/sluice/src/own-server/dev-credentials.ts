import type { AppCredentials, Apps } from "@sluice/server"
import { readCredentials, type SavedCredentials } from "../connection/credentials-file.ts"

/** Name of the app that the first start creates. */
const defaultAppName = "default"

/** The credentials that `sluice dev` prints and saves. */
export interface DevCredentials extends Omit<SavedCredentials, "app"> {
  readonly app: AppCredentials
}

/**
 * Returns the same app and tokens at every start on the same data. The store holds an app's credentials; the operator
 * token is only in the credentials file, so without the file a new one is created.
 */
export async function devCredentials(apps: Apps, data: string): Promise<Omit<DevCredentials, "url">> {
  const saved = await readCredentials(data)
  const app = await appOf(apps, saved?.app.application_id)
  const isOperator = saved !== undefined && (await apps.principal(saved.operator_token))?.kind === "operator"
  return { app, operator_token: isOperator ? saved.operator_token : await apps.createToken("operator") }
}

/** The app of the credentials file; without one, the first app with the default name, or a new one. */
async function appOf(apps: Apps, savedId: string | undefined): Promise<AppCredentials> {
  const active = (await apps.list()).filter((app) => !app.revoked)
  const app = active.find(({ id }) => id === savedId) ?? active.findLast(({ name }) => name === defaultAppName)
  return app === undefined ? apps.create(defaultAppName) : apps.credentials(app)
}
