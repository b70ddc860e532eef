import type { AppCredentials } from "@sluice/server"

/** The address of a server and the credentials of one of its apps, as the variables that the command and other programs read. */
export interface ServerVariables extends Readonly<Record<string, string>> {
  readonly SLUICE_URL: string
  readonly SLUICE_TOKEN: string
  readonly SLUICE_CONSUMER_SECRET: string
  readonly SLUICE_CLIENT_SECRET: string
  readonly SLUICE_OPERATOR_TOKEN: string
}

/** The variables for an app of the server at `url`. */
export function serverVariables(url: string, app: AppCredentials, operatorToken: string): ServerVariables {
  return {
    SLUICE_URL: url,
    SLUICE_TOKEN: app.bearer_token,
    SLUICE_CONSUMER_SECRET: app.consumer_secret,
    SLUICE_CLIENT_SECRET: app.client_secret,
    SLUICE_OPERATOR_TOKEN: operatorToken,
  }
}
