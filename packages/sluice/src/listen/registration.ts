/**
 * The webhook, link and rules of a listener: added at its start, removed at its end.
 *
 * A killed listener removes nothing. Therefore its webhook has its name in the URL's path, and its rules in their tags. The
 * next listener requests each such URL, and removes the registrations of those that do not respond. With `--keep` the name
 * is `keep`: that registration stays, and the next `listen --keep` continues it.
 */
import { randomBytes } from "node:crypto"
import type { Client, Operations } from "@sluice/client"
import { Failure } from "../process/failure.ts"
import { identity } from "./listener.ts"

type Webhook = Operations["webhooks"]["GET"]["response"]["data"][number]

/** The name of a listener, in its webhook and rules. */
export interface ListenerName {
  readonly name: string
  /** The path of its URL. */
  readonly path: string
  /** The tag of its rules. */
  readonly tag: string
}

const keptName = "keep"

/** A unique name, or the one of `--keep`. */
export function listenerName(isKept: boolean): ListenerName {
  return named(isKept ? keptName : randomBytes(4).toString("hex"))
}

function named(name: string): ListenerName {
  return { name, path: `/sluice-listen/${name}`, tag: `listen ${name}` }
}

const urlPattern = /^http:\/\/127\.0\.0\.1:(\d{1,5})\/sluice-listen\/(\w{1,20})$/

/** The registration of a listener that no longer runs. */
export interface Leftover extends ListenerName {
  readonly webhookId: string
  readonly port: number
}

/** Longest wait for the response of another listener. */
const identityMsMax = 1_000

/** The registrations of listeners that no longer run. */
export async function findLeftovers(client: Client): Promise<readonly Leftover[]> {
  const { data } = await client.request("GET", "webhooks")
  const found = await Promise.all(
    data.map(async (webhook) => ((await isRunning(webhook)) ? undefined : leftoverOf(webhook))),
  )
  return found.filter((one) => one !== undefined)
}

function leftoverOf({ id, url }: Webhook): Leftover | undefined {
  const [, port, name] = urlPattern.exec(url) ?? []
  return name === undefined ? undefined : { ...named(name), webhookId: id, port: Number(port) }
}

async function isRunning({ url }: Webhook): Promise<boolean> {
  if (!urlPattern.test(url)) return false
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(identityMsMax), redirect: "manual" })
    return response.status === 200 && (await response.text()) === identity
  } catch {
    return false
  }
}

/** The registration of an earlier `--keep`, if any. */
export function keptLeftover(leftovers: readonly Leftover[]): Leftover | undefined {
  return leftovers.find(({ name }) => name === keptName)
}

/** Removes leftover registrations except kept ones; returns their number. */
export async function removeLeftovers(client: Client, leftovers: readonly Leftover[]): Promise<number> {
  const gone = leftovers.filter(({ name }) => name !== keptName)
  for (const { webhookId, tag } of gone) {
    // The webhook last: its URL leads to the rules.
    await deleteRules(client, await ruleIdsOf(client, tag))
    await client.request("DELETE", "webhook", { parameters: { webhook_id: webhookId } })
  }
  return gone.length
}

/** The added webhook, link and rules. */
export interface Registration {
  readonly webhookId: string
  readonly signingKey: string
  readonly ruleIds: readonly string[]
  /** Values of rules that the app already had, which stay. */
  readonly known: readonly string[]
}

/**
 * Registers the endpoint at `url`, links it, and adds rules. If a step fails, the others are undone. Throws `Failure` for
 * a rule that the server rejects.
 */
export async function register(
  client: Client,
  { url, rules, tag, kept }: { url: string; rules: readonly string[]; tag: string; kept: Leftover | undefined },
): Promise<Registration> {
  const webhookId = kept === undefined ? await createWebhook(client, url) : await revalidate(client, kept.webhookId)
  const parameters = { webhook_id: webhookId }
  try {
    if (!(await isLinked(client, webhookId))) await client.request("POST", "link", { parameters })
    const { data: key } = await client.request("GET", "signingKey", { parameters })
    return { webhookId, signingKey: key.signing_key, ...(await addRules(client, rules, tag)) }
  } catch (error) {
    if (kept === undefined) await client.request("DELETE", "webhook", { parameters })
    throw error
  }
}

/** The current signing key. */
export async function signingKeyOf(client: Client, webhookId: string): Promise<string> {
  const { data } = await client.request("GET", "signingKey", { parameters: { webhook_id: webhookId } })
  return data.signing_key
}

/** Undoes `register`. */
export async function unregister(client: Client, { webhookId, ruleIds }: Registration): Promise<void> {
  await deleteRules(client, ruleIds)
  await client.request("DELETE", "webhook", { parameters: { webhook_id: webhookId } })
}

async function createWebhook(client: Client, url: string): Promise<string> {
  const { data } = await client.request("POST", "webhooks", { body: { url } })
  return data.id
}

async function revalidate(client: Client, webhookId: string): Promise<string> {
  const { data } = await client.request("PUT", "webhook", { parameters: { webhook_id: webhookId } })
  if (!data.valid) throw new Failure(`Webhook ${webhookId} of an earlier --keep failed its challenge.`)
  return webhookId
}

async function isLinked(client: Client, webhookId: string): Promise<boolean> {
  for await (const { data } of client.pages("links")) {
    if (data.links.some((link) => link.webhook_id === webhookId)) return true
  }
  return false
}

async function addRules(
  client: Client,
  values: readonly string[],
  tag: string,
): Promise<Pick<Registration, "ruleIds" | "known">> {
  if (values.length === 0) return { ruleIds: [], known: [] }
  const body = { add: values.map((value) => ({ value, tag })) }
  const { data = [], errors = [] } = await client.request("POST", "rules", { body })
  const ruleIds = data.map(({ id }) => id)
  const known = errors.filter(({ title }) => title === "DuplicateRule").map((error) => String(valueOf(error)))
  const wrong = errors.find(({ title }) => title !== "DuplicateRule")
  if (wrong === undefined) return { ruleIds, known }
  await deleteRules(client, ruleIds)
  throw new Failure(`The rule ${String(valueOf(wrong))} was not added.`, [wrong.detail])
}

const valueOf = (error: object): unknown => Reflect.get(error, "value")

async function ruleIdsOf(client: Client, tag: string): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { data = [] } of client.pages("rules")) {
    ids.push(...data.filter((rule) => rule.tag === tag).map(({ id }) => id))
  }
  return ids
}

async function deleteRules(client: Client, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await client.request("POST", "rules", { body: { delete: { ids: [...ids] } } })
}
