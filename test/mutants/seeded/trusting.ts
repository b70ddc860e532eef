/** Seeded faults of trust: signatures, challenges, addresses, and what one app may see of another. */
import type { Mutant } from "../mutant.ts"
import { mutant, rules, server } from "./one-change.ts"

export const signatures: readonly Mutant[] = [
  mutant(
    "X's signature is over other bytes than the body",
    `${server}/delivery/sending/delivery-signer.ts`,
    "buffer.subarray(bodyAt - blockBytes, end)",
    "buffer.subarray(bodyAt + 1 - blockBytes, end)",
    `${server}/delivery/sending/attempt.test.ts`,
  ),
  mutant(
    "the Standard Webhooks signature leaves the time out",
    "packages/api/src/signature.ts",
    "return `${id}.${timestamp}.`",
    "return `${id}.`",
    `${server}/delivery/sending/attempt.test.ts`,
  ),
  mutant(
    "the client takes a delivery that is stale",
    "packages/client/src/receiver/signatures.ts",
    "Math.abs(sentAtMs - nowMs) <= toleranceMs",
    "Number(timestamp) > 0",
    "packages/client/src/receiver/receiver.test.ts",
  ),
  mutant(
    "the client takes a delivery that X did not sign",
    "packages/client/src/receiver/signatures.ts",
    'if (!isSame(headers.get(signatureHeader) ?? "", signedByX)) {',
    "if (!headers.has(signatureHeader)) {",
    "packages/client/src/receiver/receiver.test.ts",
  ),
  mutant(
    "rules are made the same as a list without a look at their tags",
    "packages/client/src/rules-sync.ts",
    "return rule !== undefined && rule.tag === tag",
    "return rule !== undefined",
    "packages/client/src/rules-sync.test.ts",
  ),
  mutant(
    "a stream that is opened again does not request what was missed",
    "packages/client/src/stream.ts",
    'heal && completeAtMs !== undefined ? beginAfter(completeAtMs, beganAtMs) : { kind: "now" }',
    '{ kind: "now" }',
    "packages/client/src/stream.test.ts",
  ),
  mutant(
    "a backfill that broke off counts as read",
    "packages/client/src/healing.ts",
    'return kind === "now" || line === ""',
    'return kind !== "recovery" || line === ""',
    "packages/client/src/stream.test.ts",
  ),
  mutant(
    "a delivery that was not handled is taken for a repeat when it comes again",
    "packages/client/src/receiver/receiver.ts",
    "    if (response?.ok !== true) await forget(delivery.id, repeats)\n",
    "    if (response === undefined) await repeats?.finish(delivery.id, keepMs)\n",
    "packages/client/src/receiver/receiver.test.ts",
  ),
  mutant(
    "the client follows pages in a circle",
    "packages/client/src/pages.ts",
    "if (token === remembered)",
    "if (token === undefined)",
    "packages/client/src/pages.test.ts",
  ),
  mutant(
    "the old signing key is dropped at once",
    `${server}/delivery/sending/signing-keys.ts`,
    "this.#before !== undefined && atMs < this.#before.untilMs ? this.#before.signer : this.#now",
    "this.#now",
    `${server}/delivery/sending/sender.test.ts`,
  ),
  mutant(
    "the old signing key is never dropped",
    `${server}/delivery/sending/signing-keys.ts`,
    "this.#before !== undefined && atMs < this.#before.untilMs ? this.#before.signer : this.#now",
    "(this.#before?.signer ?? this.#now)",
    `${server}/delivery/sending/sender.test.ts`,
  ),
  mutant(
    "an event's id is another at every attempt",
    `${server}/delivery/sending/sender.ts`,
    "return eventIdOf(this.#link.id, seq)",
    "return `${eventIdOf(this.#link.id, seq)}_${this.#deps.clock.monotonicMs()}`",
    `${server}/delivery/sending/sender.test.ts`,
    `${server}/delivery/links/webhook-links.test.ts`,
  ),
  mutant(
    "a redirect counts as delivered",
    `${server}/delivery/sending/attempt.ts`,
    "if (status < 300) return {",
    "if (status < 400) return {",
    `${server}/delivery/sending/attempt.test.ts`,
  ),
]

export const challenges: readonly Mutant[] = [
  mutant(
    "any token of the right length passes a challenge",
    `${server}/control/webhooks/crc-check.ts`,
    "return isSame(token, expected) ?",
    "return token.length === expected.length || isSame(token, expected) ?",
    `${server}/control/webhooks/crc-check.test.ts`,
  ),
  mutant(
    "every challenge has the same token",
    `${server}/control/webhooks/crc-check.ts`,
    "Buffer.from(deps.random.bytes(tokenBytes))",
    "Buffer.alloc(tokenBytes)",
    `${server}/control/webhooks/crc-check.test.ts`,
    `${server}/control/webhooks/webhook-registry.test.ts`,
  ),
  mutant(
    "an endpoint that is only down is found to be invalid",
    `${server}/control/webhooks/challenge-schedule.ts`,
    '    if (result.kind === "unreachable" && !isSilentTooLong) return result\n',
    "    void isSilentTooLong\n",
    `${server}/control/webhooks/challenge-schedule.test.ts`,
  ),
  mutant(
    "an invalid webhook is delivered to",
    `${server}/delivery/links/webhook-link.ts`,
    "if (this.#ending.signal.aborted || !this.#link.valid || this.#isInvalidating) return false",
    "if (this.#ending.signal.aborted) return false",
    `${server}/delivery/links/webhook-links.test.ts`,
    `${server}/delivery/links/delivery-outcomes.test.ts`,
  ),
  mutant(
    "410 Gone changes nothing",
    `${server}/delivery/links/webhook-link.ts`,
    '        if (result.outcome === "gone") await this.#invalidateWebhook()\n',
    "        void this.#invalidateWebhook\n",
    `${server}/delivery/links/delivery-outcomes.test.ts`,
  ),
]

export const guard: readonly Mutant[] = [
  {
    name: "the guard does not know IPv4-mapped addresses",
    file: `${server}/runtime/outbound-address.ts`,
    changes: [
      {
        from: 'if (range !== "unicast") return',
        to: 'if (range !== "unicast" && range !== "ipv4Mapped") return',
      },
      {
        from: "const isGlobal = address instanceof ipaddr.IPv4 ||",
        to: 'const isGlobal = address instanceof ipaddr.IPv4 || range === "ipv4Mapped" ||',
      },
    ],
    tests: [`${server}/runtime/outbound-address.test.ts`],
  },
  mutant(
    "the guard does not know the ranges of IPv6",
    `${server}/runtime/outbound-address.ts`,
    'if (range !== "unicast") return',
    'if (range !== "unicast" && address instanceof ipaddr.IPv4) return',
    `${server}/runtime/outbound-address.test.ts`,
  ),
  mutant(
    "the guard does not know the metadata address",
    `${server}/runtime/outbound-address.ts`,
    "if (address.toString() === publicMetadataAddress) return",
    "if (address.toString() === `${publicMetadataAddress}0`) return",
    `${server}/runtime/outbound-address.test.ts`,
  ),
  mutant(
    "only the first address of a name is checked",
    `${server}/runtime/outbound-address.ts`,
    "!addresses.every(mayReach)",
    "!addresses.slice(0, 1).every(mayReach)",
    `${server}/runtime/outbound-address.test.ts`,
    `${server}/runtime/outbound.test.ts`,
  ),
  mutant(
    "a name is looked up again after its check",
    `${server}/runtime/outbound-address.ts`,
    "return addresses.slice(0, attemptedAddressesMax)",
    "return (await resolved(name)).slice(0, attemptedAddressesMax)",
    `${server}/runtime/outbound-address.test.ts`,
    `${server}/runtime/outbound.test.ts`,
  ),
  mutant(
    "an allowed name may lead to the metadata service",
    `${server}/runtime/outbound-address.ts`,
    "return internalRanges.has(address.range()) &&",
    'return address.range() !== "multicast" &&',
    `${server}/runtime/outbound-allowed.test.ts`,
  ),
  mutant(
    "a name allowed on one port is allowed on all",
    `${server}/runtime/allowed-destinations.ts`,
    "      if (!isWithin(port, entry.ports)) return false\n",
    "",
    `${server}/runtime/outbound-allowed.test.ts`,
  ),
  mutant(
    "redirects are followed",
    `${server}/runtime/outbound-connections.ts`,
    "    connection.client.dispatch(request, exchange)\n",
    '    void import("undici").then(({ interceptors }) =>\n      connection.client.compose(interceptors.redirect({ maxRedirections: 5 })).dispatch({ ...request, origin }, exchange),\n    )\n',
    `${server}/runtime/outbound.test.ts`,
  ),
  mutant(
    "connections are not kept alive",
    `${server}/runtime/outbound.ts`,
    "    this.connection?.free()\n    this.#settle",
    "    this.connection?.close()\n    this.#settle",
    `${server}/runtime/outbound.test.ts`,
  ),
  mutant(
    "a connection that its endpoint has closed is kept",
    `${server}/runtime/outbound-connections.ts`,
    "if (connection.isFree) this.#drop(origin, connection)",
    "void this.#drop",
    `${server}/runtime/outbound-connections.test.ts`,
  ),
  mutant(
    "an answer's body has no bound",
    `${server}/runtime/outbound-connections.ts`,
    "    maxResponseSize: answerBytesMax,\n",
    "",
    `${server}/runtime/outbound.test.ts`,
  ),
  mutant(
    "the deadline ends with the answer's head",
    `${server}/runtime/outbound.ts`,
    "    this.#status = status\n",
    "    this.#status = status\n    clearTimeout(this.#deadline)\n",
    `${server}/runtime/outbound-deadline.test.ts`,
    `${server}/runtime/outbound.test.ts`,
  ),
  mutant(
    "certificates are not checked",
    `${server}/runtime/outbound-connections.ts`,
    "    rejectUnauthorized: true,\n",
    "    rejectUnauthorized: false,\n",
    `${server}/runtime/outbound.test.ts`,
  ),
]

export const sessions: readonly Mutant[] = [
  mutant(
    "a session changes things without its CSRF token",
    `${server}/http/auth.ts`,
    "    refuseWithoutCsrfToken(request, session)\n",
    "",
    `${server}/http/sessions.test.ts`,
  ),
  mutant(
    "a session authenticates what a page of another origin requests",
    `${server}/http/auth.ts`,
    "cookie === undefined || isCrossOrigin(request) ? undefined",
    "cookie === undefined ? undefined",
    `${server}/http/sessions.test.ts`,
  ),
  mutant(
    "the code of a sign-in link signs in again",
    `${server}/control/sessions.ts`,
    "      codes.delete(code)\n",
    "",
    `${server}/http/sessions.test.ts`,
  ),
]

export const trouble: readonly Mutant[] = [
  mutant(
    "trouble of one webhook reaches the others",
    `${server}/trouble/troubles.ts`,
    "return trouble.webhookId === undefined || trouble.webhookId === webhookId",
    "return trouble.webhookId === undefined || webhookId !== undefined",
    `${server}/trouble/troubles.test.ts`,
  ),
  mutant(
    "a server for production makes trouble on demand",
    `${server}/main.ts`,
    'config.posture === "dev" ? createTrouble(base, threads, signal) : undefined',
    "createTrouble(base, threads, signal)",
    `${server}/http/routes/trouble.test.ts`,
  ),
  mutant(
    "a post is made of a rule, and not compared with it",
    `${rules}/example/example-post.ts`,
    "if (evaluate(rule, readPost(envelope, { mode })))",
    "if (envelope.data.text !== undefined)",
    `${rules}/example/example-post.test.ts`,
  ),
]
