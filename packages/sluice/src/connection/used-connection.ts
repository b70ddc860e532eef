/** The server and the token of a command, for the message when the server does not know the token. */
import type { Environment } from "../environment.ts"
import { Failure, failureOf } from "../process/failure.ts"

/** A server, and the place of a token for it. */
export interface UsedConnection {
  readonly url: string
  /** The place from which the token was read: a file, a variable or an option. */
  readonly place: string
}

/** The connections that commands have made, by their environments. */
const used = new WeakMap<Environment, UsedConnection>()

/** Notes the connection that a command makes. */
export function noteConnection(environment: Environment, connection: UsedConnection): void {
  used.set(environment, connection)
}

/**
 * The error of a command with this environment as a `Failure`, as `failureOf`. When a server does not know the token, it names
 * the server and the place of the token.
 */
export async function commandFailure(error: unknown, environment: Environment): Promise<Failure | undefined> {
  const connection = used.get(environment)
  const failure = await failureOf(error)
  if (connection === undefined || failure === error) return failure
  const { ApiError } = await import("@sluice/client")
  if (!(error instanceof ApiError)) return failure
  // A proxy has words of its own for a 401.
  if (error.status === 401 && error.detail === "Unauthorized") return unauthorized(connection, error)
  return otherKind(connection, error.detail, error) ?? failure
}

/** Kinds of tokens, by X's names for them and ours. */
const tokenKinds = [
  ["OAuth 2.0 Application-Only", "app"],
  ["OAuth 2.0 User Context", "user"],
  ["Ingest Token", "ingest"],
  ["Operator Token", "operator"],
] as const

/** A token that the server knows, and that is of a kind which may not do this. */
function otherKind({ place }: UsedConnection, detail: string, cause: Error): Failure | undefined {
  const supported = /Supported authentication types are \[(.*)\]/.exec(detail)?.[1]
  if (supported === undefined) return undefined
  const [kind, ...others] = tokenKinds.filter(([name]) => supported.includes(name)).map(([, one]) => one)
  if (kind === undefined) return undefined
  const needed = [kind, ...others].map((one) => `a token of kind ${one}`).join(" or ")
  const create = kind === "app" ? "sluice app create NAME" : `sluice token create --kind ${kind}`
  return new Failure(
    `The token of ${place} may not do this: it takes ${needed}.`,
    [`On the machine of the server, \`${create}\` creates one. Name it by SLUICE_TOKEN or --token-file.`],
    { cause },
  )
}

/** The most common mistake: a token of another server, or of another start on other data. */
function unauthorized({ url, place }: UsedConnection, cause: Error): Failure {
  return new Failure(`Unauthorized: the server at ${url} does not know the token of ${place}.`, unknownToken(place), {
    cause,
  })
}

function unknownToken(place: string): readonly string[] {
  if (place.endsWith("credentials.json")) {
    return [
      "The file is from a start on other data, or another server has this address now.",
      "Start `sluice dev` again in that directory, or name the server's token by SLUICE_TOKEN or --token-file.",
    ]
  }
  const name = /^the context (.+)$/.exec(place)?.[1]
  if (name !== undefined) {
    return ["It is revoked, or another server has this address now.", `Save another: sluice login ${name} --url URL`]
  }
  return [
    "It is a token of another server, is revoked, or was not copied whole.",
    `Use a token of this server (\`sluice app list\` and \`sluice token list\` on its machine)${
      place === "SLUICE_TOKEN" ? ", or unset SLUICE_TOKEN for that of `sluice dev` in this directory" : ""
    }.`,
  ]
}
