/** Something that the person at the terminal can act on. The command prints it and exits 1. */
export class Failure extends Error {
  override readonly name: string = "Failure"
  /** What else to print, a line each, an empty one where a gap helps: the causes, or what to do. */
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

/** An error as a `Failure`, when it is one or a server caused it; any other is a fault of this program. */
export async function failureOf(error: unknown): Promise<Failure | undefined> {
  if (error instanceof Failure) return error
  // Loaded here, since `--help` and most commands never need it.
  const { ApiError } = await import("@sluice/client")
  if (!(error instanceof ApiError)) return undefined
  const { kind, message, details, isRefused } = error
  const hints = { problem: details, response: notSluice, connection: isRefused ? notStarted : [] }[kind]
  return new Failure(message, hints, { cause: error })
}

const notSluice = ["The answer is not in the form of Sluice's errors. Is it a Sluice server at this address?"]

const notStarted = ["Start a server with `npm start` (or `sluice dev`), or name another one with --url or SLUICE_URL."]
