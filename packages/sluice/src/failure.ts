/** Something that the person at the terminal must hear and can act on. The command prints it and exits 1. */
export class Failure extends Error {
  override readonly name: string = "Failure"
  /** What else to say, a line each, an empty one where a gap helps: the causes, or what to do. */
  readonly hints: readonly string[]

  constructor(message: string, hints: readonly string[] = [], options?: ErrorOptions) {
    super(message, options)
    this.hints = hints
  }
}

/** The text of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
