/**
 * The settings of one source, as its entry in the configuration file gives them: a reader of members that are text,
 * whole numbers, flags, addresses and secrets.
 *
 * Each checker reads the members that its kind of source has, and `noOthers` then refuses the rest, so that a member that
 * is written wrongly is never ignored. The first fault is thrown as an `Error` whose message continues "The source NAME":
 *
 *     has no stream: name the stream to read, such as posts.
 */
import { readFileSync } from "node:fs"
import { ConfigError } from "../runtime/config-error.ts"
import { remembered } from "./known-secrets.ts"

/** The members of an entry as they were parsed, and the environment, by the names of variables. */
export type SourceMembers = Readonly<Record<string, unknown>>
export type Environment = Readonly<Record<string, string | undefined>>

/** Returns a secret as it is now, for one connection; `undefined` when there is none. Throws when its file cannot be read. */
export type ReadSecret = () => string | undefined

/** Text that a member must have: `example` completes "such as". */
export interface TextRule {
  readonly example: string
  /** All of the text must match. */
  readonly pattern?: RegExp
  /** Completes "must be", and is given with a pattern. */
  readonly shape?: string
  /** Completes "has no MEMBER:" when the member is required and absent. */
  readonly purpose?: string
}

/** Texts that a list may hold. */
export interface TextsRule {
  readonly example: string
  /** Most of them; 100 when absent. */
  readonly max?: number
  /** The only ones. */
  readonly oneOf?: readonly string[]
  readonly test?: (text: string) => boolean
}

/** Addresses that a member may have. */
export interface UrlRule {
  /** With the colon: `redis:`. */
  readonly protocols: readonly string[]
  readonly example: string
  /** Text after `?` is accepted. Else it is refused, since it may hold a secret. */
  readonly mayHaveQuery?: boolean
}

/** Members that every entry has, and that are read elsewhere. */
const commonMembers = ["name", "type"]

/** Characters of a name, which becomes a label of metrics. Ours. */
const namePattern = /^[a-z0-9][a-z0-9_-]{0,39}$/

/** Characters of the name of a variable. Source: POSIX, "Environment Variables", 8.1. */
const variablePattern = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Characters that would end a header or a line. */
const controlCharacter = /\p{Cc}/u

/** Reads the members of one entry. */
export class SettingsReader {
  readonly #members: SourceMembers
  readonly #env: Environment
  readonly #known = new Set(commonMembers)

  constructor(members: SourceMembers, env: Environment) {
    this.#members = members
    this.#env = env
  }

  /** The name of the source. */
  name(): string {
    const name = this.#read("name")
    if (typeof name === "string" && namePattern.test(name)) return name
    throw new Error(
      "needs a name of 1 to 40 lower-case letters, digits, - and _ that begins with a letter or a digit, such as posts-1.",
    )
  }

  /** A text that must be there. */
  text(member: string, rule: TextRule): string {
    const text = this.optionalText(member, rule)
    if (text !== undefined) return text
    throw new Error(`has no ${member}: ${rule.purpose ?? "set it"}, such as ${rule.example}.`)
  }

  /** A text that is never empty; `undefined` when it is absent. */
  optionalText(member: string, { example, pattern, shape = "text on one line" }: TextRule): string | undefined {
    const value = this.#read(member)
    if (value === undefined) return undefined
    // A number without quotes is a text that YAML has read otherwise.
    if (typeof value !== "string")
      throw new Error(`has ${member} ${shown(value)}: it must be text, such as "${example}".`)
    if (value === "") throw new Error(`has an empty ${member}: set it, such as ${example}, or leave it out.`)
    if (controlCharacter.test(value) || pattern?.test(value) === false) {
      throw new Error(`has ${member} ${shown(value)}: it must be ${shape}, such as ${example}.`)
    }
    return value
  }

  /** A text that may have several lines; `undefined` when it is absent. */
  script(member: string): string | undefined {
    const value = this.#read(member)
    if (value === undefined) return undefined
    if (typeof value === "string" && value.trim() !== "") return value
    throw new Error(`has ${member} ${shown(value)}: it must be text, which may have several lines.`)
  }

  /** A reader of the members of a member; `undefined` when it is absent. */
  nested(member: string): SettingsReader | undefined {
    const value = this.#read(member)
    if (value === undefined) return undefined
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return new SettingsReader(value as SourceMembers, this.#env)
    }
    throw new Error(`has ${member} ${shown(value)}: it must have members of its own.`)
  }

  /** The names of all members, as they are written. */
  names(): readonly string[] {
    return Object.keys(this.#members)
  }

  /** One of a few words; the first is the default. */
  oneOf<Word extends string>(member: string, words: readonly [Word, ...Word[]]): Word {
    const value = this.#read(member)
    if (value === undefined) return words[0]
    const word = words.find((each) => each === value)
    if (word !== undefined) return word
    throw new Error(`has ${member} ${shown(value)}: it must be ${words.join(" or ")}.`)
  }

  /** A whole number within a range, ends included. */
  wholeNumber(member: string, [min, max]: readonly [number, number], defaultValue: number): number {
    const value = this.#read(member)
    if (value === undefined) return defaultValue
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value
    throw new Error(`has ${member} ${shown(value)}: it must be a whole number from ${min} to ${max}.`)
  }

  /** A flag, which is false when absent, unless said otherwise. */
  flag(member: string, defaultValue = false): boolean {
    const value = this.#read(member)
    if (value === undefined) return defaultValue
    if (typeof value === "boolean") return value
    throw new Error(`has ${member} ${shown(value)}: it must be true or false.`)
  }

  /** A list of texts; one text is a list of it, and none is an empty list. */
  texts(member: string, { example, max = 100, oneOf, test = () => true }: TextsRule): readonly string[] {
    const value = this.#read(member)
    if (value === undefined) return []
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (list.length > max) throw new Error(`has ${list.length} ${member}: it may have at most ${max}.`)
    const wrong = list.find((one) => typeof one !== "string" || !test(one) || oneOf?.includes(one) === false)
    if (wrong === undefined) return [...new Set(list as readonly string[])]
    const right = oneOf === undefined ? `such as ${example}` : oneOf.join(", ")
    throw new Error(`has ${shown(wrong)} in its ${member}: write a list of texts, ${right}.`)
  }

  /** A list of addresses as `url` has one; `undefined` when it is absent. */
  urls(member: string, rule: UrlRule): readonly string[] | undefined {
    const value = this.#read(member)
    if (value === undefined) return undefined
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (list.length === 0) throw new Error(`has empty ${member}: write a list of addresses, or leave it out.`)
    return list.map((one) => checkedUrl(member, one, rule))
  }

  /** An address with an allowed protocol, without user, password and fragment. The text is as it was written. */
  url(member: string, rule: UrlRule): string {
    return checkedUrl(member, this.#read(member), rule)
  }

  /** An address as `url` has one; `undefined` when it is absent. */
  optionalUrl(member: string, rule: UrlRule): string | undefined {
    const value = this.#read(member)
    return value === undefined ? undefined : checkedUrl(member, value, rule)
  }

  /** The path of a file, which the source reads when it needs it. */
  file(member: string): string | undefined {
    return this.optionalText(member, { example: `/etc/sluice/${member.replace(/File$/, "")}` })
  }

  /**
   * A secret that `MEMBERFile` or `MEMBERVariable` names; `undefined` when neither is set. A file is read for each
   * connection, so that the secret may be renewed while the server runs. One line break at its end is no part of it.
   */
  secret(member: string): ReadSecret | undefined {
    const [fileMember, variableMember] = [`${member}File`, `${member}Variable`]
    if (member in this.#members) {
      throw new Error(
        `has ${member} in the configuration file: name the file that holds it by ${fileMember}, or the variable by ${variableMember}.`,
      )
    }
    const file = this.file(fileMember)
    const variable = this.optionalText(variableMember, {
      example: `SOURCE_${member.toUpperCase()}`,
      pattern: variablePattern,
      shape: "the name of an environment variable",
    })
    if (file !== undefined && variable !== undefined) {
      throw new Error(`has both ${fileMember} and ${variableMember}: leave one of them out.`)
    }
    if (file !== undefined) return () => remembered(filledTextOf(file))
    if (variable === undefined) return undefined
    const value = this.#env[variable]
    if (value === undefined || value === "") {
      throw new Error(`has ${variableMember} ${variable}, and the environment has no such variable: set it.`)
    }
    return () => remembered(value)
  }

  /** Refuses members that were not read. Call it last. */
  noOthers(): void {
    const other = Object.keys(this.#members).find((member) => !this.#known.has(member))
    if (other === undefined) return
    throw new Error(`has an unknown member ${shown(other)}: it may have ${[...this.#known].toSorted().join(", ")}.`)
  }

  #read(member: string): unknown {
    this.#known.add(member)
    // YAML writes an absent value as null.
    return this.#members[member] ?? undefined
  }
}

function checkedUrl(member: string, value: unknown, { protocols, example, mayHaveQuery = false }: UrlRule): string {
  if (value === undefined) throw new Error(`has no ${member}: say where it is, such as ${example}.`)
  // The text is not shown: it may hold a password.
  const refuse = (why: string): never => {
    throw new Error(`has a ${member} that ${why}, such as ${example}.`)
  }
  if (typeof value !== "string" || !URL.canParse(value)) return refuse("is no URL: write an address")
  const { protocol, hostname, username, password, search, hash } = new URL(value)
  if (!protocols.includes(protocol)) {
    return refuse(`begins with ${protocol}//, and must begin with ${protocols.join("// or ")}//`)
  }
  if (hostname === "") return refuse("names no host: write an address")
  if (username !== "" || password !== "") {
    return refuse(
      "holds credentials: set username, and passwordFile or passwordVariable, and write an address without them",
    )
  }
  if (hash !== "" || (search !== "" && !mayHaveQuery))
    return refuse("has text after ? or #: write an address without it")
  return value
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "")
  } catch (error) {
    throw new Error(`The file ${file} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function filledTextOf(file: string): string {
  const text = textOf(file)
  if (text === "") throw new Error(`The file ${file} is empty, and is to hold a secret.`)
  return text
}

/**
 * Reads what a source reads again for each connection: a file that cannot be read at the start is a fault of the settings. Throws
 * an error whose message continues "The source NAME".
 */
export function readOnce(reads: readonly ((() => unknown) | undefined)[]): void {
  try {
    for (const read of reads) read?.()
  } catch (error) {
    throw new Error(`cannot start: ${(error as Error).message}`, { cause: error })
  }
}

/** As `readOnce`, for the source of a name. Throws `ConfigError`. */
export function refuseUnreadable(name: string, reads: Parameters<typeof readOnce>[0]): void {
  try {
    readOnce(reads)
  } catch (error) {
    throw new ConfigError(`The source ${name} ${(error as Error).message}`, { cause: error })
  }
}

/** Most characters of a value that a message shows. */
const shownMax = 60

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? typeof value
  return text.length <= shownMax ? text : `${text.slice(0, shownMax)}…`
}
