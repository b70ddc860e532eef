import { ConfigError, DataDirectoryInUse, StoreTooNew } from "@sluice/server"
import { Failure } from "./failure.ts"

/** Does what needs a server of our own; what keeps it from starting is thrown as a `Failure` that says what to do. */
export async function tellingServerFaults(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw failureOf(error) ?? error
  }
}

function failureOf(error: unknown): Failure | undefined {
  if (error instanceof ConfigError || error instanceof DataDirectoryInUse || error instanceof StoreTooNew) {
    return new Failure(error.message, [], { cause: error })
  }
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  const place = `${address ?? "?"}:${String(port ?? "?")}`
  switch (code) {
    case "EADDRINUSE":
      return new Failure(`Something listens on ${place} already.`, [
        "Choose another port with --port; 0 takes a free one.",
      ])
    case "EADDRNOTAVAIL":
      return new Failure(`${address ?? "?"} is no address of this machine.`, ["Choose one with --host."])
    case "EACCES":
      return new Failure(`This user may not do that: ${(error as Error).message}.`)
    default:
      return undefined
  }
}
