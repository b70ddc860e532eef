/** The server and the token of a command, for the message when the server does not know the token. */
import type { Environment } from "../environment.ts"
import { Failure, failureOf } from "../process/failure.ts"
import { placeText, tokenMisfit, type TokenPlace } from "./token-misfit.ts"

/** A server, and the place of a token for it. */
export interface UsedConnection {
  readonly url: string
  readonly place: TokenPlace
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
  const misfit = tokenMisfit({ by: "response", detail: error.detail }, connection.place)
  return misfit === undefined ? failure : new Failure(misfit.message, misfit.hints, { cause: error })
}

/** The most common mistake: a token of another server, or of another start on other data. */
function unauthorized({ url, place }: UsedConnection, cause: Error): Failure {
  const message = `Unauthorized: the server at ${url} does not know the token of ${placeText(place)}.`
  return new Failure(message, unknownToken(place), { cause })
}

function unknownToken(place: TokenPlace): readonly string[] {
  if (place.kind === "dev") {
    return [
      "The file is from a start on other data, or another server has this address now.",
      "Start `sluice dev` again in that directory, or name the server's token by SLUICE_TOKEN or --token-file.",
    ]
  }
  if (place.kind === "context") {
    const save = `Save another: sluice login ${place.name} --url URL`
    return ["It is revoked, or another server has this address now.", save]
  }
  return [
    "It is a token of another server, is revoked, or was not copied whole.",
    `Use a token of this server (\`sluice app list\` and \`sluice token list\` on its machine)${
      place.name === "SLUICE_TOKEN" ? ", or unset SLUICE_TOKEN for that of `sluice dev` in this directory" : ""
    }.`,
  ]
}
