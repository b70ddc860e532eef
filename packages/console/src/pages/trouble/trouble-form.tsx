import type { AddTroubleBody, TroubledResponse } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { useToast } from "../../components/overlays/toast.tsx"
import { SelectField, TextField } from "../../components/field.tsx"
import { FaultForm } from "./fault-form.tsx"
import { faultText } from "./trouble-text.ts"

type Kind = "responses" | "repeats" | "challenges" | "page_tokens"

const kinds: Readonly<Record<Kind, { readonly title: string; readonly hint: string }>> = {
  responses: {
    title: "Delivery responses",
    hint: "429, 500 and 503 replace the endpoint's response, and no request is sent; slow and lost responses are the endpoint's own.",
  },
  repeats: {
    title: "Repeated deliveries",
    hint: "A received delivery is sent again, with the same event id.",
  },
  challenges: {
    title: "Challenges",
    hint: "A wrong token invalidates a webhook at once; after 500, 503 or a lost response it keeps its grace period.",
  },
  page_tokens: {
    title: "Page tokens",
    hint: "Expires every token issued so far, or the next ones that are used.",
  },
}

const responses: Readonly<Record<"responses" | "challenges", readonly (readonly [TroubledResponse, string])[]>> = {
  responses: [
    ["500", "500"],
    ["503", "503"],
    ["429", "429"],
    ["slow", "Slow"],
    ["cut", "Lost: the connection is closed"],
  ],
  challenges: [
    ["wrong_token", "A wrong token"],
    ["500", "500"],
    ["503", "503"],
    ["cut", "Lost: the connection is closed"],
  ],
}

type Extent = "next" | "percent" | "issued"

/** The state of the form. Numbers are text until they are sent; the server validates them. */
interface Draft {
  readonly kind: Kind
  readonly webhookId: string
  readonly response: TroubledResponse
  readonly extent: Extent
  readonly count: string
  readonly latency: string
  readonly retryAfter: string
}

const firstDraft: Draft = {
  kind: "responses",
  webhookId: "",
  response: "500",
  extent: "next",
  count: "3",
  latency: "3000",
  retryAfter: "",
}

/** Adds a fault of deliveries, challenges or page tokens. */
export function TroubleForm(): ReactNode {
  const [draft, setDraft] = useState(firstDraft)
  const add = useApiChange("POST", "troubles")
  const toast = useToast()
  const change = (changes: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changes }))
  return (
    <FaultForm
      title="Add a fault"
      hint={kinds[draft.kind].hint}
      action="Add fault"
      change={add}
      onSubmit={() =>
        add.mutate({ body: bodyOf(draft) }, { onSuccess: ({ data }) => toast(`Added: ${faultText(data)}`) })
      }
    >
      <SelectField label="Affects" value={draft.kind} options={kindOptions} onChange={(kind) => change(ofKind(kind))} />
      <Details draft={draft} change={change} />
    </FaultForm>
  )
}

const kindOptions = Object.entries(kinds).map(([kind, { title }]) => [kind as Kind, title] as const)

function Details({
  draft,
  change,
}: {
  readonly draft: Draft
  readonly change: (changes: Partial<Draft>) => void
}): ReactNode {
  const { kind, response, extent } = draft
  const webhooks = useApi("webhooks", {}, { enabled: kind !== "page_tokens" })
  return (
    <>
      {kind !== "page_tokens" && (
        <SelectField
          label="Webhook"
          value={draft.webhookId}
          options={[
            ["", "All webhooks of the app"],
            ...(webhooks.data?.data ?? []).map(({ id, url }) => [id, url] as const),
          ]}
          onChange={(webhookId) => change({ webhookId })}
        />
      )}
      {hasResponse(kind) && (
        <SelectField
          label="Response"
          value={response}
          options={responses[kind]}
          onChange={(next) => change({ response: next })}
        />
      )}
      {isSlow(draft) && (
        <TextField {...numeric} label="Delay (ms)" value={draft.latency} onChange={(latency) => change({ latency })} />
      )}
      {mayRetryAfter(draft) && (
        <TextField
          {...numeric}
          label="Retry-After (s)"
          value={draft.retryAfter}
          onChange={(retryAfter) => change({ retryAfter })}
        />
      )}
      <SelectField
        label="Applies to"
        value={extent}
        options={extents.filter(([one]) => one === "next" || (one === "issued") === (kind === "page_tokens"))}
        onChange={(next) => change({ extent: next })}
      />
      {extent !== "issued" && (
        <TextField
          {...numeric}
          label={extent === "percent" ? "Share (%)" : "Number"}
          value={draft.count}
          onChange={(count) => change({ count })}
        />
      )}
    </>
  )
}

const extents: readonly (readonly [Extent, string])[] = [
  ["issued", "All issued so far"],
  ["next", "The next ones"],
  ["percent", "A share of all, until cleared"],
]

function hasResponse(kind: Kind): kind is "responses" | "challenges" {
  return kind === "responses" || kind === "challenges"
}

function isSlow({ kind, response }: Draft): boolean {
  return kind === "responses" && response === "slow"
}

function mayRetryAfter({ kind, response }: Draft): boolean {
  return kind === "responses" && (response === "429" || response === "503")
}

const numeric = { type: "number", min: 0, inputMode: "numeric" } as const

/** The defaults of a kind: not every choice exists for every kind. */
function ofKind(kind: Kind): Partial<Draft> {
  return {
    kind,
    response: kind === "challenges" ? "wrong_token" : "500",
    extent: kind === "page_tokens" ? "issued" : "next",
    count: kind === "responses" ? "3" : "1",
  }
}

function bodyOf(draft: Draft): AddTroubleBody {
  const { kind, webhookId, response, extent, count, latency, retryAfter } = draft
  return {
    kind,
    ...(kind !== "page_tokens" && webhookId !== "" && { webhook_id: webhookId }),
    ...(hasResponse(kind) && { response }),
    ...(isSlow(draft) && { latency_ms: Number(latency) }),
    ...(mayRetryAfter(draft) && retryAfter !== "" && { retry_after_seconds: Number(retryAfter) }),
    ...(extent === "next" && { next: Number(count) }),
    ...(extent === "percent" && { percent: Number(count) }),
  }
}
