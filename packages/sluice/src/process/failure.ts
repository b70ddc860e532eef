/** An error that the user can act on. The command prints it and exits with its status. */
export class Failure extends Error {
  override readonly name: string = "Failure"
  /** Further lines to print, such as causes or advice; an empty line is a gap. */
  readonly hints: readonly string[]
  /** The exit status. */
  readonly status: number

  constructor(
    message: string,
    hints: readonly string[] = [],
    { status = 1, ...options }: ErrorOptions & { readonly status?: number } = {},
  ) {
    super(message, options)
    this.hints = hints
    this.status = status
  }
}

/** Options or arguments that do not go together: exit status 2, as for those that the command line itself refuses. */
export class WrongUsage extends Failure {
  override readonly name = "WrongUsage"

  constructor(message: string, hints: readonly string[] = []) {
    super(message, hints, { status: 2 })
  }
}

/** The text of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The error as a `Failure`, if it is one or came from a server; `undefined` for a bug of this program. */
export async function failureOf(error: unknown): Promise<Failure | undefined> {
  if (error instanceof Failure) return error
  // Loaded here, since `--help` and most commands never need it.
  const { ApiError } = await import("@sluice/client")
  if (!(error instanceof ApiError)) return undefined
  const { kind, message, details, isUnreachable } = error
  const hints = { problem: details, response: notSluice, connection: isUnreachable ? notStarted : [] }[kind]
  return new Failure(message, hints, { cause: error })
}

const notSluice = ["The response is not an error of Sluice. Is a Sluice server at this address?"]

const notStarted = [
  "Start a server with `sluice dev` (`npm start` in a checkout), or set its URL with --url or SLUICE_URL.",
]
