import { createReadStream } from "node:fs"
import type { Client } from "@sluice/client"
import type { Command } from "commander"
import { checkedContextName, contextFile, currentContextName, readContext, type NamedContext } from "./context-files.ts"
import { defaultDataDirectory, findCredentials, readCredentials, type FoundCredentials } from "./credentials-file.ts"
import type { Environment } from "../environment.ts"
import { Failure, messageOf, WrongUsage } from "../process/failure.ts"
import { tokenSources, type TokenSource } from "./token-sources.ts"
import { tokenMisfit, type Role, type TokenPlace } from "./token-misfit.ts"
import { noteConnection } from "./used-connection.ts"

const defaultUrl = "http://127.0.0.1:8080"

/** The options by which every client command finds its server. */
export interface ConnectionOptions {
  readonly url?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly context?: string
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
      "--context <name>",
      "Server and token that `sluice login` saved (default: SLUICE_CONTEXT, or `sluice use`)",
      checkedContextName,
    )
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
 * A client for those options. A saved token is sent to its own server only, unless the user names both: that of a context to
 * its URL, and that of `sluice dev` to the URL of its file, or with `--data` to any. `role` chooses the token of
 * the file: the app's, or the operator's, which may ingest, too.
 */
export async function connect(
  options: ConnectionOptions,
  environment: Environment,
  role: Role = "app",
): Promise<Client> {
  const givenUrl = checkedUrl(options.url ?? environment.url)
  const given = checkedToken((await tokenOf(options)) ?? environment.token)
  // Loaded here: the help of a command does not need it.
  const { createClient } = await import("@sluice/client")
  const to = (url: string, token: string, place: TokenPlace): Client => {
    noteConnection(environment, { url, place })
    return createClient({ url, token })
  }
  if (given !== undefined) {
    sourcesOf(options, environment)
    return to(givenUrl ?? defaultUrl, given, givenPlace(options))
  }
  const saved = await savedConnection(options, environment)
  if (saved === undefined) {
    throw new Failure("No token found.", [
      "Set SLUICE_TOKEN or use --token-file, or save a server with `sluice login`,",
      "or start `sluice dev` in this directory or a parent: it saves a token. --data names its data directory elsewhere.",
    ])
  }
  if (saved.kind === "dev") {
    if ((options.data ?? environment.data) === undefined) refuseOtherServer(saved, givenUrl)
    const token = role === "app" ? saved.app.bearer_token : saved.operator_token
    return to(givenUrl ?? saved.url, token, { kind: "dev", file: saved.file })
  }
  const { context } = saved
  refuseOtherUrl(context, givenUrl)
  const place: TokenPlace = { kind: "context", name: context.name }
  // The server would refuse it, too.
  const misfit = tokenMisfit({ by: "role", role, held: context.kind }, place)
  if (misfit !== undefined) throw new Failure(misfit.message, misfit.hints)
  return to(context.url, context.token, place)
}

type SavedConnection =
  | ({ readonly kind: "dev" } & FoundCredentials)
  | { readonly kind: "context"; readonly context: NamedContext }

function sourcesOf(options: ConnectionOptions, environment: Environment): readonly TokenSource[] {
  return tokenSources({
    isServerOption: (options.url ?? options.token ?? options.tokenFile) !== undefined,
    isUrlVariable: environment.url !== undefined,
    isTokenGiven: isTokenGiven(options, environment),
    contextOption: options.context,
    contextVariable: environment.context,
    dataOption: options.data,
  })
}

function isTokenGiven(options: ConnectionOptions, environment: Environment): boolean {
  return (options.token ?? options.tokenFile ?? environment.token) !== undefined
}

/** The first saved token in the order of `tokenSources`; `undefined` when none is saved, or one is given. */
async function savedConnection(
  options: ConnectionOptions,
  environment: Environment,
): Promise<SavedConnection | undefined> {
  for (const source of sourcesOf(options, environment)) {
    if (source.kind === "dev") {
      const data = options.data ?? environment.data
      const found = await (data === undefined ? findCredentials(".") : readCredentials(data))
      if (found !== undefined) return { kind: "dev", ...found }
    } else if (source.kind !== "given") {
      const name = source.kind === "context" ? source.name : await currentContextName(environment.userDirectory)
      if (name !== undefined) return { kind: "context", context: await mustReadContext(environment, name) }
    }
  }
  return undefined
}

/** The context of this name. Throws `Failure` when there is none. */
export async function mustReadContext({ userDirectory }: Environment, name: string): Promise<NamedContext> {
  const found = await readContext(userDirectory, name)
  if (found !== undefined) return found
  throw new Failure(`There is no context ${name}.`, [
    `\`sluice use\` lists the contexts; \`sluice login ${name} --url URL\` makes it.`,
    `Its file would be ${contextFile(userDirectory, name)}.`,
  ])
}

/** A token of a context is for one server. */
function refuseOtherUrl({ name, url }: NamedContext, givenUrl: string | undefined): void {
  if (givenUrl === undefined || new URL(givenUrl).href === new URL(url).href) return
  throw new Failure(`No token found for ${givenUrl}.`, [
    `The context ${name} is for ${url}, and its token is not sent to another server.`,
    "Set SLUICE_TOKEN or use --token-file.",
  ])
}

/** Credentials that no option names are for the server of this machine that saved them. */
function refuseOtherServer({ url, file }: FoundCredentials, givenUrl: string | undefined): void {
  if (givenUrl === undefined || serverOf(givenUrl) === serverOf(url)) return
  throw new Failure(`No token found for ${givenUrl}.`, [
    `The tokens in ${file} are for ${url}, and are not sent to another server.`,
    "Set SLUICE_TOKEN or use --token-file, or name the file's directory with --data.",
  ])
}

/** A URL with one name for the addresses of this machine. */
function serverOf(url: string): string {
  const server = new URL(url)
  if (/^(localhost|127\.0\.0\.1|\[::1\])$/.test(server.hostname)) server.hostname = "localhost"
  return server.href
}

/** The place of a token that is given. */
function givenPlace({ token, tokenFile }: ConnectionOptions): TokenPlace {
  return { kind: "given", name: tokenFile ?? (token === undefined ? "SLUICE_TOKEN" : "--token") }
}

/** Whether the options or the environment name a server or a token. */
export function isServerNamed(options: ConnectionOptions, environment: Environment): boolean {
  const context = options.context ?? (options.data === undefined ? environment.context : undefined)
  return (options.url ?? environment.url ?? context) !== undefined || isTokenGiven(options, environment)
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
  const saved = await savedConnection(options, environment)
  if (saved?.kind !== "dev") {
    throw new Failure("Answering the server's challenges requires the app's client secret or consumer secret.", [
      "Set SLUICE_CLIENT_SECRET or SLUICE_CONSUMER_SECRET in addition to the token.",
    ])
  }
  return { client, consumerSecret: saved.app.consumer_secret, clientSecret: saved.app.client_secret }
}

/** Longest file of a token: a token has fewer than 200 characters. Ours. */
export const tokenFileBytesMax = 4_096

/** The token that the options give. */
async function tokenOf({ token, tokenFile }: ConnectionOptions): Promise<string | undefined> {
  if (tokenFile === undefined) return token
  if (token !== undefined) throw new WrongUsage("Use either --token or --token-file, not both.")
  return readTokenFile(tokenFile)
}

/** The token in a file. Throws `Failure` for a file that cannot be read, is empty or is too large. */
export async function readTokenFile(tokenFile: string): Promise<string> {
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

/** The URL of a server, unless it is absent. Throws `Failure` for any other text. */
export function checkedUrl<Url extends string | undefined>(url: Url): Url {
  if (url === undefined) return url
  const parsed = URL.parse(url)
  const isAddress = parsed !== null && /^https?:$/.test(parsed.protocol)
  if (!isAddress || parsed.search + parsed.hash + parsed.username + parsed.password !== "") {
    // The part before an @ or behind a ? may be a secret.
    const shown = url.replace(/[?#].*$/s, "").replace(/^.*@/s, "")
    throw new Failure(`"${shown}" is not the URL of a server.`, [`Expected a URL such as ${defaultUrl}.`])
  }
  return url
}

/** A token, unless it is absent. Throws `Failure` for other characters than a header may have. */
export function checkedToken<Token extends string | undefined>(token: Token): Token {
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new Failure("The token contains invalid characters.", [
      "Check that it was copied completely and without quotes.",
    ])
  }
  return token
}
