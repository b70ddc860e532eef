import { ConfigError } from "../runtime/config-error.ts"
import { StoreDamaged, StoreFailed, StoreFull, StoreUnavailable, StoreUnreadable } from "../store/store-faults.ts"

/** Errors of these calls are about the address, and are reported where it was chosen. */
const networkCalls = new Set(["listen", "bind", "getaddrinfo"])

/**
 * The error to throw when a server cannot start on a store: a `ConfigError` of one sentence for a full or read-only disk,
 * missing rights, damage, or a database that cannot be reached; else `error` itself. `place` is that of the engine.
 */
export function startFault(place: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code, syscall = "" } = error as NodeJS.ErrnoException
  if (error instanceof StoreFull) {
    const message = error.message.replace("Sluice goes on by itself", "then start Sluice again")
    return new ConfigError(`Nothing can be written to the ${place}. ${message}`, { cause: error })
  }
  if (error instanceof StoreUnreadable) {
    return new ConfigError(`${error.message} Sluice cannot start without that part.`, { cause: error })
  }
  if (error instanceof StoreFailed || error instanceof StoreDamaged) {
    return new ConfigError(error.message, { cause: error })
  }
  if (error instanceof StoreUnavailable) {
    return new ConfigError(`The ${place} cannot be used: ${error.message.replace(/\.?$/, ".")}`, { cause: error })
  }
  const isSystemError = code !== undefined && /^E[A-Z0-9]+$/.test(code) && !networkCalls.has(syscall)
  if (!isSystemError) return error
  return new ConfigError(`The ${place} cannot be used: ${error.message}.`, {
    cause: error,
  })
}
