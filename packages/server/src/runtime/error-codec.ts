/**
 * Errors on their way between threads. Structured cloning keeps an error's message and drops its class and its fields, so an
 * error crosses as plain data and is made again on the other side:
 *
 *     StoreFull ──► sentError ──► { className, message, stack, fields, cause } ──► receivedError ──► StoreFull
 *
 * One table names the classes. A module adds its own where it defines them, so code that tests for a class has always
 * loaded its entry.
 */

/** A class of errors. Only its prototype is used: instances are made again without a call of the constructor. */
interface ErrorClass {
  readonly name: string
  readonly prototype: Error
}

/** An error as plain data. */
export interface SentError {
  /** The nearest registered class. */
  readonly className: string
  readonly message: string
  readonly stack: string | undefined
  /** Its own fields, as far as they are plain values, such as `code`. */
  readonly fields: Readonly<Record<string, string | number | boolean>>
  readonly cause?: SentError
}

const classes = new Map<string, ErrorClass>()

/** Registers classes whose errors keep their class between threads. Other errors arrive as the nearest registered class. */
export function keepErrorClasses(...kinds: readonly ErrorClass[]): void {
  for (const kind of kinds) classes.set(kind.name, kind)
}

keepErrorClasses(Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError)

/** A thrown value as plain data. Anything but an error becomes an error with that value as its message. */
export function sentError(thrown: unknown): SentError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  return {
    className: classNameOf(error),
    message: error.message,
    stack: error.stack,
    fields: Object.fromEntries(Object.entries(error).filter(([, value]) => isPlain(value))),
    ...(error.cause !== undefined && { cause: sentError(error.cause) }),
  }
}

/** The error that was sent, of the class that it had. */
export function receivedError({ className, message, stack, fields, cause }: SentError): Error {
  const error = new Error(message, cause && { cause: receivedError(cause) })
  Object.setPrototypeOf(error, (classes.get(className) ?? Error).prototype)
  if (stack !== undefined) error.stack = stack
  return Object.assign(error, fields)
}

function classNameOf(error: Error): string {
  let prototype: unknown = Object.getPrototypeOf(error)
  while (prototype instanceof Error) {
    const { name } = prototype.constructor
    if (classes.get(name)?.prototype === prototype) return name
    prototype = Object.getPrototypeOf(prototype)
  }
  return "Error"
}

function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
}
