/** An error that the user can act on. The command prints it and exits with status 1. */
export class Failure extends Error {
  override readonly name: string = "Failure"
  /** Further lines to print, such as causes or advice; an empty line is a gap. */
  readonly hints: readonly string[]

  constructor(message: string, hints: readonly string[] = [], options?: ErrorOptions) {
    super(message, options)
    this.hints = hints
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
  const { kind, message, details, isRefused } = error
  const hints = { problem: details, response: notSluice, connection: isRefused ? notStarted : [] }[kind]
  return new Failure(message, hints, { cause: error })
}

const notSluice = ["The response is not an error of Sluice. Is a Sluice server at this address?"]

const notStarted = [
  "Start a server with `sluice dev` (`npm start` in a checkout), or set its URL with --url or SLUICE_URL.",
]
