/**
 * How a store fails for want of something outside it, as errors to tell apart. They cross thread borders by `code`,
 * since an error loses its class on the way.
 */

/**
 * Nothing more can be kept for now: the disk is full, or a file that is needed for it cannot be opened. Nothing of the
 * write is kept, and it is worth another try.
 */
export class StoreFull extends Error {
  override readonly name = "StoreFull"
  readonly code = "SQLITE_FULL"
}

/**
 * The disk did not do what it was asked, and nothing is kept from then on. Whether the write is kept shows only when
 * the store is opened again: after a flush that failed, a second one that succeeds proves nothing. Source:
 * "PostgreSQL's fsync() surprise", LWN, 2018.
 */
export class StoreFailed extends Error {
  override readonly name = "StoreFailed"
  readonly code = "SQLITE_IOERR"
}

/** What the store holds is not what was put in. */
export class StoreDamaged extends Error {
  override readonly name = "StoreDamaged"
  readonly code = "SQLITE_CORRUPT"
}

const kinds = [StoreFull, StoreFailed, StoreDamaged] as const

/** The code of one of these errors, to be sent along with it. */
export function storeFaultCode(error: unknown): string | undefined {
  return kinds.some((Kind) => error instanceof Kind) ? (error as StoreFull).code : undefined
}

/** The error that was sent along with `code`, of its class again. */
export function storeFaultOf(code: string | undefined, error: unknown): unknown {
  const Kind = kinds.find((kind) => new kind("").code === code)
  if (Kind === undefined || !(error instanceof Error)) return error
  return new Kind(error.message, { cause: error.cause })
}

/** The store was made by a newer program. Nothing of it was touched. */
export class StoreTooNew extends Error {
  override readonly name = "StoreTooNew"
}
