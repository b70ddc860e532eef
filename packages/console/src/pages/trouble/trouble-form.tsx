import type { AddTroubleBody, TroubledResponse } from "@sluice/api"
import { useState, type FormEvent, type ReactNode } from "react"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { Field } from "../../components/field.tsx"
import { Panel } from "../../components/panel.tsx"
import { ErrorNote } from "../../components/states.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { faultText } from "./trouble-text.ts"
import styles from "./trouble.module.css"

type Kind = "responses" | "repeats" | "challenges" | "page_tokens"

const kinds: Readonly<Record<Kind, { readonly title: string; readonly hint: string }>> = {
  responses: {
    title: "Answers to deliveries",
    hint: "429, 500 and 503 stand in place of the endpoint, which is not asked; slow and lost answers are its own.",
  },
  repeats: {
    title: "Repeated deliveries",
    hint: "A delivery that was received is sent once more, with the same event id.",
  },
  challenges: {
    title: "Challenges",
    hint: "A wrong token makes a webhook invalid at once; 500, 503 and a lost answer leave it its grace period.",
  },
  page_tokens: {
    title: "Page tokens",
    hint: "Every token that was issued so far counts as expired, or the next ones that are used.",
  },
}

const responses: Readonly<Record<"responses" | "challenges", readonly (readonly [TroubledResponse, string])[]>> = {
  responses: [
    ["500", "500"],
    ["503", "503"],
    ["429", "429"],
    ["slow", "Slow"],
    ["cut", "Lost: the connection is cut"],
  ],
  challenges: [
    ["wrong_token", "A wrong token"],
    ["500", "500"],
    ["503", "503"],
    ["cut", "None: the connection is cut"],
  ],
}

type Extent = "next" | "percent" | "issued"

/** What the form holds. Numbers are text until they are sent; the server says what is wrong with them. */
interface Draft {
  readonly kind: Kind
  readonly webhookId: string
  readonly response: string
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

/** Makes deliveries, challenges or page tokens fail. */
export function TroubleForm(): ReactNode {
  const [draft, setDraft] = useState(firstDraft)
  const add = useApiChange("POST", "troubles")
  const toast = useToast()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    add.mutate({ body: bodyOf(draft) }, { onSuccess: ({ data }) => toast(`Added: ${faultText(data)}`) })
  }
  const change = (changes: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changes }))
  return (
    <Panel title="Make something fail">
      <form className={styles["form"]} onSubmit={submit}>
        <div className={styles["fields"]}>
          <Field label="What">
            {(control) => (
              <select {...control} value={draft.kind} onChange={({ target }) => change(ofKind(target.value as Kind))}>
                {Object.entries(kinds).map(([kind, { title }]) => (
                  <option key={kind} value={kind}>
                    {title}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Details draft={draft} change={change} />
        </div>
        <p className={styles["hint"]}>{kinds[draft.kind].hint}</p>
        <ErrorNote error={add.error} />
        <div>
          <Button kind="primary" type="submit" isBusy={add.isPending}>
            Make it fail
          </Button>
        </div>
      </form>
    </Panel>
  )
}

function Details({
  draft,
  change,
}: {
  readonly draft: Draft
  readonly change: (changes: Partial<Draft>) => void
}): ReactNode {
  const { kind, response, extent } = draft
  const webhooks = useApi("webhooks", {}, { enabled: kind !== "page_tokens" })
  const hasCount = extent !== "issued"
  return (
    <>
      {kind !== "page_tokens" && (
        <Field label="Webhook">
          {(control) => (
            <select {...control} value={draft.webhookId} onChange={({ target }) => change({ webhookId: target.value })}>
              <option value="">All of the app</option>
              {webhooks.data?.data.map(({ id, url }) => (
                <option key={id} value={id}>
                  {url}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {(kind === "responses" || kind === "challenges") && (
        <Field label="Answer">
          {(control) => (
            <select {...control} value={response} onChange={({ target }) => change({ response: target.value })}>
              {responses[kind].map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {kind === "responses" && response === "slow" && (
        <NumberField label="After (ms)" value={draft.latency} onChange={(latency) => change({ latency })} />
      )}
      {kind === "responses" && (response === "429" || response === "503") && (
        <NumberField
          label="Retry-After (s)"
          value={draft.retryAfter}
          onChange={(retryAfter) => change({ retryAfter })}
        />
      )}
      <Field label="How many">
        {(control) => (
          <select {...control} value={extent} onChange={({ target }) => change({ extent: target.value as Extent })}>
            {kind === "page_tokens" && <option value="issued">All issued so far</option>}
            <option value="next">The next ones</option>
            {kind !== "page_tokens" && <option value="percent">A share of all, until cleared</option>}
          </select>
        )}
      </Field>
      {hasCount && (
        <NumberField
          label={extent === "percent" ? "Share (%)" : "Number"}
          value={draft.count}
          onChange={(count) => change({ count })}
        />
      )}
    </>
  )
}

function NumberField({
  label,
  value,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}): ReactNode {
  return (
    <Field label={label}>
      {(control) => (
        <input
          {...control}
          type="number"
          min={0}
          inputMode="numeric"
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  )
}

/** The choices that a kind begins with: those of another one may not be there. */
function ofKind(kind: Kind): Partial<Draft> {
  return {
    kind,
    response: kind === "challenges" ? "wrong_token" : "500",
    extent: kind === "page_tokens" ? "issued" : "next",
    count: kind === "responses" ? "3" : "1",
  }
}

function bodyOf({ kind, webhookId, response, extent, count, latency, retryAfter }: Draft): AddTroubleBody {
  const hasResponse = kind === "responses" || kind === "challenges"
  const mayRetry = kind === "responses" && (response === "429" || response === "503")
  return {
    kind,
    ...(kind !== "page_tokens" && webhookId !== "" && { webhook_id: webhookId }),
    ...(hasResponse && { response }),
    ...(kind === "responses" && response === "slow" && { latency_ms: Number(latency) }),
    ...(mayRetry && retryAfter !== "" && { retry_after_seconds: Number(retryAfter) }),
    ...(extent === "next" && { next: Number(count) }),
    ...(extent === "percent" && { percent: Number(count) }),
  }
}
