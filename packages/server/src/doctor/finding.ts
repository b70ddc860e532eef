/** One result of an examination. */
export interface Finding {
  /**
   * `error`: this server did something wrong, or cannot do its work. `warning`: a person should look at it; other
   * people's endpoints can cause no more than this. `ok`: looked at, and good.
   */
  readonly level: "ok" | "warning" | "error"
  readonly subject: Subject
  /** The result in sentences, which may hold untrusted text. */
  readonly text: string
  /** Advice to the operator. */
  readonly advice?: string
}

/** The subjects of an examination, in this order. */
export const subjects = [
  "settings",
  "store",
  "rules",
  "sources",
  "proof",
  "deliveries",
  "clock",
  "disk",
  "endpoints",
] as const

type Subject = (typeof subjects)[number]

/** A finding that is good. */
export function good(subject: Subject, text: string): Finding {
  return { level: "ok", subject, text }
}

/** A finding that a person should look at. */
export function warning(subject: Subject, text: string, advice?: string): Finding {
  return { level: "warning", subject, text, ...(advice !== undefined && { advice }) }
}

/** A finding that is wrong. */
export function fault(subject: Subject, text: string, advice?: string): Finding {
  return { level: "error", subject, text, ...(advice !== undefined && { advice }) }
}

/** A number with its noun: `1 match`, `2 matches`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
