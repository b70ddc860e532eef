/** Settings of an outbox: a table in a PostgreSQL database of the operator's. */
import type { ReadSecret, SettingsReader } from "../../settings.ts"
import { readMapping } from "../feed-settings.ts"

/** Settings of a source of this kind. */
export interface OutboxSettings {
  /** Without credentials. */
  readonly url: string
  readonly username: string | undefined
  readonly password: ReadSecret | undefined
  /** The parts of the table's name: with its schema, or without. */
  readonly table: readonly string[]
  readonly idColumn: string
  readonly envelopeColumn: string
  /** Time between looks at the table. */
  readonly pollMs: number
  /** Notifications on this channel are hints that there are rows; undefined for none. */
  readonly channel: string | undefined
  /** Rows that are stored are deleted. */
  readonly deletesRows: boolean
  /** The JSONata expression; undefined when the column holds envelopes. */
  readonly mapping: string | undefined
}

/** Parameters of a URL that name a certificate, or how much TLS is to check. Others may hold secrets. */
const urlParameters = new Set(["sslmode", "sslrootcert", "sslcert", "sslkey", "application_name", "uselibpqcompat"])

/** Characters of a name. Ours: it is quoted in SQL. */
const namePattern = /^[^\p{Cc}".]{1,63}$/u

/** The same with a schema. */
const tablePattern = /^(?:[^\p{Cc}".]{1,63}\.)?[^\p{Cc}".]{1,63}$/u

/** Reads the settings. Throws an `Error` that continues "The source NAME". */
export function readOutboxSettings(settings: SettingsReader): OutboxSettings {
  const name = (member: string, example: string): string | undefined =>
    settings.optionalText(member, { example, pattern: namePattern, shape: "a name of at most 63 characters" })
  const tableRule = { example: "public.outbox", pattern: tablePattern, shape: "a table, with or without its schema" }
  const outbox: OutboxSettings = {
    url: readUrl(settings),
    username: settings.optionalText("username", { example: "sluice" }),
    password: settings.secret("password"),
    table: (settings.optionalText("table", tableRule) ?? "outbox").split("."),
    idColumn: name("idColumn", "id") ?? "id",
    envelopeColumn: name("envelopeColumn", "envelope") ?? "envelope",
    pollMs: settings.wholeNumber("pollSeconds", [1, 3_600], 2) * 1_000,
    channel: name("channel", "outbox"),
    deletesRows: settings.flag("deleteRows"),
    mapping: readMapping(settings),
  }
  settings.noOthers()
  return outbox
}

function readUrl(settings: SettingsReader): string {
  const example = "postgres://db.example.com:5432/app?sslmode=verify-full"
  const url = settings.url("url", { protocols: ["postgres:", "postgresql:"], example, mayHaveQuery: true })
  const other = [...new URL(url).searchParams.keys()].find((name) => !urlParameters.has(name))
  if (other === undefined) return url
  throw new Error(`has the parameter ${other} in its url, which may have ${[...urlParameters].join(", ")}.`)
}
