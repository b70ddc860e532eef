import { parseRule } from "@sluice/rules"
import { useId, useMemo, type ReactNode } from "react"
import { ButtonLink } from "../../components/button-link.tsx"
import { Button } from "../../components/button.tsx"
import { SelectField } from "../../components/field.tsx"
import { Form } from "../../components/form.tsx"
import { RuleEditor } from "../../components/rules/rule-editor.tsx"
import { ruleOptions } from "../../components/rules/rule-options.ts"
import { RuleProblems } from "../../components/rules/rule-problems.tsx"
import { ErrorNote } from "../../components/states.tsx"
import { TimeField } from "../../components/time-field.tsx"
import { useStatePer } from "../../components/use-state-per.ts"
import { faultsOf } from "./faults.ts"
import styles from "./search-form.module.css"
import { requestOf, type Search, type Span } from "./search.ts"

const spans = [
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["all", "All stored posts"],
  ["custom", "Custom"],
] as const

const orders = [
  ["recency", "Newest first"],
  ["relevancy", "Most relevant first"],
] as const

/** The query of a search, its time and its order. `error`: why the server refused the search that ran. */
export function SearchForm({
  search,
  error,
  isBusy,
  onSearch,
}: {
  /** The search of the address, from which the form begins. */
  readonly search: Search
  readonly error: unknown
  readonly isBusy: boolean
  readonly onSearch: (search: Search) => void
}): ReactNode {
  const [draft, setDraft] = useStatePer(search, (one) => one)
  const problemsId = useId()
  const { query, span, order } = draft
  const isValid = useMemo(() => parseRule(query, ruleOptions.search).ok, [query])
  const faults = faultsOf(error)
  const setQuery = (next: string): void => setDraft({ ...draft, query: next })
  const submit = (): void => {
    if (isValid) onSearch(draft)
  }
  return (
    <Form onSubmit={submit}>
      <RuleEditor
        value={query}
        onChange={setQuery}
        onEnter={submit}
        label="Query"
        describedBy={problemsId}
        mode="search"
      />
      <RuleProblems id={problemsId} value={query} onChange={setQuery} mode="search" />
      {(faults.others || span.kind !== "custom") && <ErrorNote error={error} />}
      <div className={styles["controls"]}>
        <SelectField
          label="Time"
          value={span.kind}
          options={spans}
          onChange={(kind) => setDraft({ ...draft, span: spanOf(kind, search) })}
        />
        {span.kind === "custom" && (
          <>
            <div className={styles["time"]}>
              <TimeField
                label="From"
                value={span.from}
                error={faults.startTime}
                onChange={(from) => setDraft({ ...draft, span: { ...span, from } })}
              />
            </div>
            <div className={styles["time"]}>
              <TimeField
                label="Until"
                value={span.until}
                error={faults.endTime}
                onChange={(until) => setDraft({ ...draft, span: { ...span, until } })}
              />
            </div>
          </>
        )}
        <SelectField
          label="Order"
          value={order}
          options={orders}
          onChange={(next) => setDraft({ ...draft, order: next })}
        />
        <div className={styles["actions"]}>
          {isValid ? (
            <ButtonLink href={`~/console/rules/new?${new URLSearchParams({ value: query }).toString()}`}>
              Make this a rule
            </ButtonLink>
          ) : (
            <Button disabled>Make this a rule</Button>
          )}
          <Button kind="primary" type="submit" disabled={!isValid} isBusy={isBusy}>
            Search
          </Button>
        </div>
      </div>
    </Form>
  )
}

/** The span of a chosen kind. Two times begin with those of the search that ran. */
function spanOf(kind: Span["kind"], search: Search): Span {
  if (kind !== "custom") return { kind }
  const { start_time: from = "", end_time: until = "" } = requestOf(search, Date.now()).times
  return { kind, from, until }
}
