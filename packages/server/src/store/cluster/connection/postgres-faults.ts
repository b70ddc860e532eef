/** Errors of PostgreSQL and of the way to it, as the faults of a store. */
import pg from "pg"
import { StoreFull, StoreUnavailable } from "../../store-faults.ts"

/** SQLSTATE codes of transactions that another one was in the way of. Source: PostgreSQL's documentation, appendix A. */
const worthRepeating = new Set(["40001", "40P01"])

/**
 * Classes of SQLSTATE: connection exceptions, a user who is not let in, a database that is not there, insufficient
 * resources, operator intervention, errors of its disk and its system.
 */
const unavailableClasses = new Set(["08", "28", "3D", "53", "57", "58"])

/** A write on a server that only reads: a standby, or a primary that another server has replaced. */
const readOnly = "25006"

/** Single codes: a lock that was not to be had in time, a server that only reads, an idle transaction that was ended. */
const unavailableCodes = new Set(["55P03", readOnly, "25P03"])

const diskFull = "53100"

/** Codes of errors of sockets, of name resolution, and of what is written to a connection that is gone. */
const networkCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ERR_STREAM_DESTROYED",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
])

/** Codes of a certificate that is not trusted, or not the server's. Source: Node's documentation, "X509 certificate error codes". */
const tlsCodes = /^(?:ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/

/** How the message of every `StoreUnavailable` begins. */
export const unavailablePrefix = "PostgreSQL is not available: "

/** Messages of `pg`'s errors without a code about a connection that is lost or unavailable. */
const lostConnection =
  /connection terminated|^timeout expired$|timeout exceeded when trying to connect|query read timeout|not queryable|does not support SSL/i

/** Those of them about a missing response. */
const timedOut = /query read timeout/i

/** Whether the same transaction may well succeed when it is run again. */
export function isWorthRepeating(error: unknown): boolean {
  return error instanceof pg.DatabaseError && worthRepeating.has(error.code ?? "")
}

/** Whether the connection is gone, or is of no more use because its server only reads. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof pg.DatabaseError) return error.code === readOnly
  const { code } = error as NodeJS.ErrnoException
  return (code !== undefined && (networkCodes.has(code) || tlsCodes.test(code))) || lostConnection.test(error.message)
}

/**
 * Whether all connections to the server are of no more use, although most of them don't show it: no response came in
 * time, as it is when the network is gone, or the server only reads.
 */
export function isServerLost(error: unknown): boolean {
  const { cause = error } = error instanceof Error ? error : {}
  if (cause instanceof pg.DatabaseError) return cause.code === readOnly
  return cause instanceof Error && timedOut.test(cause.message)
}

/** The fault of a store that an error is; other errors are returned as they are. */
export function clusterFault(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailable) return error
  if (error instanceof pg.DatabaseError) {
    const { code = "" } = error
    if (code === diskFull) return new StoreFull(`PostgreSQL's disk is full: ${error.message}`, { cause: error })
    const isUnavailable =
      unavailableClasses.has(code.slice(0, 2)) || unavailableCodes.has(code) || worthRepeating.has(code)
    return isUnavailable ? unavailable(error) : error
  }
  if (error instanceof AggregateError) {
    return error.errors.every((one) => clusterFault(one) instanceof StoreUnavailable) ? unavailable(error) : error
  }
  return isLost(error) ? unavailable(error) : error
}

function unavailable(cause: Error): StoreUnavailable {
  const [first] = cause instanceof AggregateError ? cause.errors : []
  const { message } = first instanceof Error ? first : cause
  return new StoreUnavailable(`${unavailablePrefix}${message}`, { cause })
}
