/**
 * The URL of a PostgreSQL database, which may name several servers: `postgres://sluice@db1:5432,db2:5432/sluice`. The
 * library for PostgreSQL knows one server only, so the URL is split here into one URL for each server.
 *
 * Source: PostgreSQL's documentation, "Connection URIs" and "target_session_attrs".
 */

/** The servers of a database. */
export interface DatabaseServers {
  /** One URL for each server, in the order of the setting, without `target_session_attrs`. Never empty. */
  readonly urls: readonly string[]
  /** True when only a server that accepts writes may be used. */
  readonly mustAcceptWrites: boolean
}

/** Scheme and user; hosts with their ports; the rest. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s

/** A process writes, so servers that only read are of no use. */
const sessionAttributes = new Set(["any", "read-write", "primary"])

/**
 * Splits a URL. Only the server that accepts writes is used of several, even if `target_session_attrs` says otherwise.
 * Throws an `Error` that continues the sentence "database … must …".
 */
export function databaseServersIn(text: string): DatabaseServers {
  const [, start = "", hosts = "", rest = ""] = parts.exec(text) ?? []
  const urls = hosts.split(",").map((host) => `${start}${host}${rest}`)
  if (start === "" || !urls.every((url) => URL.canParse(url))) {
    throw new Error("must be a postgres:// or postgresql:// URL.")
  }
  const attributes = new URL(urls[0] ?? "").searchParams.get("target_session_attrs") ?? "any"
  if (!sessionAttributes.has(attributes)) {
    throw new Error(`must name a server that accepts writes: target_session_attrs is read-write, not ${attributes}.`)
  }
  return {
    urls: urls.map(withoutAttributes),
    mustAcceptWrites: urls.length > 1 || attributes !== "any",
  }
}

/** Hosts, ports and database of a URL, without credentials. */
export function placeOf(text: string): string {
  const urls = databaseServersIn(text).urls.map((url) => new URL(url))
  return `${urls.map(({ host }) => host).join(",")}${urls[0]?.pathname ?? ""}`
}

function withoutAttributes(text: string): string {
  const url = new URL(text)
  // A change writes the whole query anew.
  if (!url.searchParams.has("target_session_attrs")) return text
  url.searchParams.delete("target_session_attrs")
  return url.href
}
