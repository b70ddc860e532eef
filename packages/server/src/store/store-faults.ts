/** Failures of a store that are not its caller's fault, one class for each. They keep their class between threads. */
import { keepErrorClasses } from "../runtime/error-codec.ts"

/**
 * Nothing can be written for now: the disk is full, or a file that is needed for a write cannot be opened. Nothing of
 * the write is stored. It may succeed later.
 */
export class StoreFull extends Error {
  override readonly name = "StoreFull"
  readonly code = "STORE_FULL"
}

/**
 * The disk failed, and nothing is written from then on. Whether the write is stored shows only when the store is opened
 * again: after a failed flush, a later one that succeeds proves nothing. Source: "PostgreSQL's fsync() surprise", LWN,
 * 2018.
 */
export class StoreFailed extends Error {
  override readonly name = "StoreFailed"
  readonly code = "STORE_FAILED"
}

/**
 * The store cannot be reached for now. Nothing of the write is stored, unless the connection was lost during the commit:
 * then that is not known. It may succeed later.
 */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable"
  readonly code = "STORE_UNAVAILABLE"
}

/**
 * The store was replaced by another one while this process worked on it: by an older one, for example. Nothing of the
 * write is stored, and the process has to begin again with what that store has. For callers it is as unavailable.
 */
export class StoreReplaced extends StoreUnavailable {}

/** A row of the store does not read as it was written. */
export class StoreDamaged extends Error {
  override readonly name: string = "StoreDamaged"
  readonly code: string = "STORE_DAMAGED"
}

/** One record is not what was stored. All others can be read. */
export class RecordDamaged extends StoreDamaged {
  override readonly name = "RecordDamaged"
  override readonly code = "RECORD_DAMAGED"
}

/** The disk does not give back a part of the store. The rest can be read, and writes go on. */
export class StoreUnreadable extends Error {
  override readonly name = "StoreUnreadable"
  readonly code = "STORE_UNREADABLE"
}

/** The store was written by a newer version. Nothing of it was changed. */
export class StoreTooNew extends Error {
  override readonly name = "StoreTooNew"
  readonly code = "STORE_TOO_NEW"
}

/** The app of a change is revoked. Nothing was changed. */
export class AppRevoked extends Error {
  override readonly name = "AppRevoked"
  readonly code = "APP_REVOKED"
}

/** Another process drives the link now, so nothing of the write is stored. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost"
}

/**
 * The search index was moved by another process, or emptied, since its position was read. Nothing was added: the caller reads
 * the position and goes on from there.
 */
export class IndexMoved extends Error {
  override readonly name = "IndexMoved"
}

/** Another process serves the data directory. */
export class DataDirectoryInUse extends Error {
  override readonly name = "DataDirectoryInUse"
}

keepErrorClasses(
  StoreFull,
  StoreFailed,
  StoreUnavailable,
  StoreReplaced,
  StoreDamaged,
  RecordDamaged,
  StoreUnreadable,
  StoreTooNew,
  LeaseLost,
  IndexMoved,
  AppRevoked,
)

/** Whether a read failed because its disk fails, or more of the store is damaged than one record. */
export function isReadFault(error: unknown): boolean {
  if (error instanceof RecordDamaged) return false
  return error instanceof StoreDamaged || error instanceof StoreUnreadable || error instanceof StoreFailed
}
