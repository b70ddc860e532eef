import { createReadStream } from "node:fs"
import type { Client } from "@sluice/client"
import type { Command } from "commander"
import { defaultDataDirectory, findCredentials, readCredentials } from "./credentials-file.ts"
import type { Environment } from "../environment.ts"
import { Failure, messageOf } from "../process/failure.ts"

const defaultUrl = "http://127.0.0.1:8080"

/** The options by which every client command finds its server. */
export interface ConnectionOptions {
  readonly url?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly data?: string
}

/** Those options, and the one for output that a program reads. */
export interface ClientOptions extends ConnectionOptions {
  readonly json?: true
}

/** Adds the connection options to a command. */
export function withConnectionOptions(command: Command): Command {
  return command
    .option("--url <url>", `URL of the server (default: SLUICE_URL, the URL of \`sluice dev\`, or ${defaultUrl})`)
    .option("--token-file <file>", "File with the token (default: SLUICE_TOKEN, or the token of `sluice dev`)")
    .option("--token <token>", "Token; visible to all users of this machine, so prefer --token-file or SLUICE_TOKEN")
    .option(
      "--data <directory>",
      `Data directory of \`sluice dev\` (default: SLUICE_DATA, or ${defaultDataDirectory} in this directory or a parent)`,
    )
}

/** Adds a command with the connection options to a group. */
export function clientCommand(group: Command, name: string, description: string): Command {
  return withConnectionOptions(group.command(name)).description(description)
}

/**
 * A client for those options. The URL of the credentials file is used only with its token, so that a token is never sent
 * to another server unless the user names both. `role` chooses the token of the file: the operator's for ingest, otherwise
 * the app's.
 */
export async function connect(
  options: ConnectionOptions,
  environment: Environment,
  role: "app" | "ingest" = "app",
): Promise<Client> {
  const givenUrl = checkedUrl(options.url ?? environment.url)
  const givenToken = checkedToken((await tokenOf(options)) ?? environment.token)
  // Loaded here: the help of a command does not need it.
  const { createClient } = await import("@sluice/client")
  if (givenToken !== undefined) return createClient({ url: givenUrl ?? defaultUrl, token: givenToken })
  const data = options.data ?? environment.data
  const saved = await (data === undefined ? findCredentials(".") : readCredentials(data))
  if (saved === undefined) {
    throw new Failure("No token found.", [
      "Set SLUICE_TOKEN or use --token-file,",
      "or start `sluice dev` in this directory or a parent: it saves a token. --data names its data directory elsewhere.",
    ])
  }
  const token = role === "app" ? saved.app.bearer_token : saved.operator_token
  return createClient({ url: givenUrl ?? saved.url, token })
}

/** Whether the options or the environment name a server or a token. */
export function isServerNamed(options: ConnectionOptions, environment: Environment): boolean {
  return (options.url ?? environment.url ?? options.token ?? options.tokenFile ?? environment.token) !== undefined
}

/** Secrets of an app: one of them, or both. */
export interface AppSecrets {
  readonly consumerSecret: string | undefined
  readonly clientSecret: string | undefined
}

/**
 * A client for those options, and the secrets of its app. Throws `Failure` as `connect` does, and when only a token is
 * given: a server shows an app's secret only once.
 */
export async function connectAsApp(
  options: ConnectionOptions,
  environment: Environment,
): Promise<AppSecrets & { readonly client: Client }> {
  const client = await connect(options, environment)
  const { consumerSecret, clientSecret } = environment
  if ((consumerSecret ?? clientSecret) !== undefined) return { client, consumerSecret, clientSecret }
  const isTokenGiven = (options.token ?? options.tokenFile ?? environment.token) !== undefined
  const data = options.data ?? environment.data
  const saved = isTokenGiven ? undefined : await (data === undefined ? findCredentials(".") : readCredentials(data))
  if (saved === undefined) {
    throw new Failure("Answering the server's challenges requires the app's client secret or consumer secret.", [
      "Set SLUICE_CLIENT_SECRET or SLUICE_CONSUMER_SECRET in addition to the token.",
    ])
  }
  return { client, consumerSecret: saved.app.consumer_secret, clientSecret: saved.app.client_secret }
}

/** Longest file of a token: a token has fewer than 200 characters. Ours. */
const tokenFileBytesMax = 4_096

/** The token that the options give. */
async function tokenOf({ token, tokenFile }: ConnectionOptions): Promise<string | undefined> {
  if (tokenFile === undefined) return token
  if (token !== undefined) throw new Failure("Use either --token or --token-file, not both.")
  const chunks: Buffer[] = []
  try {
    // One byte beyond the limit shows that there is more; the file may be a pipe without an end.
    for await (const chunk of createReadStream(tokenFile, { end: tokenFileBytesMax })) chunks.push(chunk as Buffer)
  } catch (error) {
    throw new Failure(`The token file cannot be read: ${messageOf(error)}.`, [], { cause: error })
  }
  const text = Buffer.concat(chunks)
  if (text.length > tokenFileBytesMax) throw new Failure(`${tokenFile} is too large for a token.`)
  const found = text.toString("utf8").trim()
  if (found === "") throw new Failure(`${tokenFile} is empty.`)
  return found
}

function checkedUrl(url: string | undefined): string | undefined {
  if (url === undefined) return undefined
  const parsed = URL.parse(url)
  const isAddress = parsed !== null && /^https?:$/.test(parsed.protocol)
  if (!isAddress || parsed.search + parsed.hash + parsed.username + parsed.password !== "") {
    // The part before an @ or behind a ? may be a secret.
    const shown = url.replace(/[?#].*$/s, "").replace(/^.*@/s, "")
    throw new Failure(`"${shown}" is not the URL of a server.`, [`Expected a URL such as ${defaultUrl}.`])
  }
  return url
}

function checkedToken(token: string | undefined): string | undefined {
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new Failure("The token contains invalid characters.", [
      "Check that it was copied completely and without quotes.",
    ])
  }
  return token
}
