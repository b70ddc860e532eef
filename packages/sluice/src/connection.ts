import type { Command } from "commander"
import { createApiClient, type ApiClient } from "./api-client.ts"
import { defaultDataDirectory, readCredentials } from "./credentials-file.ts"
import type { Environment } from "./environment.ts"
import { Failure } from "./failure.ts"

const defaultUrl = "http://127.0.0.1:8080"

/** The options by which every client command finds its server. */
export interface ConnectionOptions {
  readonly url?: string
  readonly token?: string
  readonly data?: string
}

/** Adds those options to a command. */
export function withConnectionOptions(command: Command): Command {
  return command
    .option(
      "--url <url>",
      `where the server is (SLUICE_URL; else where \`sluice dev\` listened; else ${defaultUrl})`,
    )
    .option("--token <token>", "who is asking (SLUICE_TOKEN; else what `sluice dev` wrote)")
    .option(
      "--data <directory>",
      `where \`sluice dev\` keeps its data (SLUICE_DATA; else ${defaultDataDirectory})`,
    )
}

/**
 * A client for those options. The address in the credentials file counts only together with its token, so that a
 * token never goes to a server that it is not of without being told.
 *
 * `role`: posts are poured in with the operator's token of the credentials file, all else is the app's.
 */
export async function connect(
  options: ConnectionOptions,
  environment: Environment,
  role: "app" | "ingest" = "app",
): Promise<ApiClient> {
  const givenUrl = checkedUrl(options.url ?? environment.url)
  const givenToken = checkedToken(options.token ?? environment.token)
  if (givenToken !== undefined) return createApiClient({ url: givenUrl ?? defaultUrl, token: givenToken })
  const saved = await readCredentials(options.data ?? environment.data ?? defaultDataDirectory)
  if (saved === undefined) {
    throw new Failure("There is no token to ask with.", [
      "Give one with --token or SLUICE_TOKEN,",
      "or start `sluice dev` in this folder (or name its folder with --data): it leaves one for the other commands.",
    ])
  }
  return createApiClient({
    url: givenUrl ?? saved.url,
    token: role === "app" ? saved.app.bearer_token : saved.operator_token,
  })
}

function checkedUrl(url: string | undefined): string | undefined {
  if (url === undefined) return undefined
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.search !== "" || parsed.hash !== "") {
    throw new Failure(`"${url}" is not the address of a server.`, [`It looks like ${defaultUrl}.`])
  }
  return url
}

function checkedToken(token: string | undefined): string | undefined {
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new Failure("The token holds characters that no token has.", [
      "Was it pasted whole, and without quotes?",
    ])
  }
  return token
}
