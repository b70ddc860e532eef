import type { Envelope, RuleTestedBody } from "@sluice/api"
import { useQuery } from "@tanstack/react-query"
import { useDeferredValue, useEffect, useMemo, useState } from "react"
import { useSession } from "../../../api/session.ts"
import { needsServer, tryRule, type Verdict } from "../../../components/rules/try-rule.ts"

/** Time from the last key to the request, in ms: an app may run one test at a time. */
const settleMs = 600

/** Posts from which the server estimates the rate. */
const ratedPosts = 1_000

/** The verdicts of the rule; `undefined` until they are known, and for an invalid rule. */
export function useVerdicts(value: string, envelopes: readonly Envelope[], isValid: boolean) {
  const { client, appId } = useSession()
  const deferred = useDeferredValue(value)
  const isRemote = useMemo(() => isValid && needsServer(value), [value, isValid])
  const local = useMemo(
    () => (isValid && !isRemote ? tryRule(deferred, envelopes) : undefined),
    [deferred, envelopes, isValid, isRemote],
  )
  const settled = useSettled(value, settleMs)
  // Pasted posts keep their ids when their text is changed.
  const content = useMemo(() => JSON.stringify(envelopes), [envelopes])
  const remote = useQuery({
    queryKey: ["ruleTest", appId, "posts", settled, content],
    queryFn: ({ signal }) =>
      client.request("POST", "ruleTest", { body: { value: settled, posts: [...envelopes], explain: true }, signal }),
    enabled: isRemote && settled === value && envelopes.length > 0,
    staleTime: Infinity,
    retry: 2,
  })
  const verdicts = isRemote ? remote.data && verdictsOf(remote.data, envelopes) : local
  return { verdicts, error: isRemote ? remote.error : null }
}

/** The matches of the rule among the newest stored posts, and the estimated rate. */
export function useRate(value: string, isValid: boolean) {
  const { client, appId } = useSession()
  const settled = useSettled(value, settleMs)
  return useQuery({
    queryKey: ["ruleTest", appId, "rate", settled],
    queryFn: ({ signal }) =>
      client.request("POST", "ruleTest", { body: { value: settled, recent: ratedPosts }, signal }),
    enabled: isValid && settled === value,
    staleTime: 60_000,
    // Another test of the app may be running.
    retry: 3,
    retryDelay: 700,
  })
}

function verdictsOf({ data, unmatched = [] }: RuleTestedBody, envelopes: readonly Envelope[]): readonly Verdict[] {
  const spans = new Map(data.map((one) => [one.id, one.spans]))
  const failed = new Map(unmatched.map((one) => [one.id, one.failed]))
  return envelopes.map((envelope): Verdict => {
    const found = spans.get(envelope.data.id)
    if (found !== undefined)
      return { kind: "match", envelope, spans: found as Extract<Verdict, { spans: unknown }>["spans"] }
    const parts = failed.get(envelope.data.id) ?? []
    return { kind: "miss", envelope, failed: parts.map(({ negated, ...part }) => ({ ...part, isUnwanted: negated })) }
  })
}

/** The value, once it has been unchanged for `ms`. */
function useSettled(value: string, ms: number): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
