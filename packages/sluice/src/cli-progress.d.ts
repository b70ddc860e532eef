/** The part of cli-progress that the command uses; the package brings no types of its own. */
declare module "cli-progress" {
  /** Source: cli-progress 3.12, README, "Options". */
  interface BarOptions {
    readonly format: string
    readonly barCompleteChar: string
    readonly barIncompleteChar: string
    readonly barsize: number
    readonly hideCursor: boolean
    readonly clearOnComplete: boolean
    readonly gracefulExit: boolean
    readonly stream: NodeJS.WritableStream
  }
  class SingleBar {
    constructor(options: BarOptions)
    start(total: number, value: number, payload: Readonly<Record<string, string>>): void
    update(value: number, payload: Readonly<Record<string, string>>): void
    stop(): void
  }
  const cliProgress: { readonly SingleBar: typeof SingleBar }
  export default cliProgress
}
