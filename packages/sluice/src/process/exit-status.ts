/** Ends the program with a status that is not its own, such as that of a command that it ran. Prints nothing. */
export class ExitStatus extends Error {
  override readonly name = "ExitStatus"
  /** 0 to 255. */
  readonly status: number

  constructor(status: number) {
    super(`The exit status is ${String(status)}.`)
    this.status = status
  }
}
