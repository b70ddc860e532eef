import { parseRule } from "@sluice/rules"
import { useMemo, useState, type ReactNode } from "react"
import { useLocation } from "wouter"
import { PageHeader } from "../../components/page-header.tsx"
import { Panel } from "../../components/panel.tsx"
import { isRefusal } from "../../components/request-faults.ts"
import { ruleOptions } from "../../components/rules/rule-options.ts"
import { EmptyState, ErrorState } from "../../components/states.tsx"
import { useAddressParameters } from "../../components/use-address-parameters.ts"
import { useStatePer } from "../../components/use-state-per.ts"
import { CountsPanel } from "./counts-panel.tsx"
import { isSearchOff } from "./faults.ts"
import { HitsPanel } from "./hits-panel.tsx"
import { SearchForm } from "./search-form.tsx"
import { addressOf, readSearch, requestOf, type Search, type SearchRequest } from "./search.ts"
import { useHits, type Hits } from "./use-hits.ts"

/** Finds and counts stored posts. The address has the search, and repeats it. */
export default function SearchPage(): ReactNode {
  const parameters = useAddressParameters()
  const [, navigate] = useLocation()
  const search = useMemo(() => readSearch(parameters), [parameters])
  const [runs, setRuns] = useState(0)
  const [request] = useStatePer(`${runs} ${addressOf(search)}`, () => requestOf(search, Date.now()))
  const isValid = useMemo(() => parseRule(search.query, ruleOptions.search).ok, [search.query])
  const hits = useHits(request, isValid)
  const run = (next: Search): void => {
    const address = addressOf(next)
    setRuns(runs + 1)
    navigate(`?${address}`, { replace: address === addressOf(search) })
  }
  return (
    <>
      <PageHeader title="Search">Finds and counts the posts that this server has stored.</PageHeader>
      <Panel>
        <SearchForm
          search={search}
          error={isRefusal(hits.error) && hits.posts === undefined ? hits.error : null}
          isBusy={hits.posts === undefined && hits.isReading}
          onSearch={run}
        />
      </Panel>
      {isValid ? (
        <Results search={search} request={request} hits={hits} onSearch={run} />
      ) : (
        search.query === "" && <NothingSearched />
      )}
    </>
  )
}

function Results({
  search,
  request,
  hits,
  onSearch,
}: {
  readonly search: Search
  readonly request: SearchRequest
  readonly hits: Hits
  readonly onSearch: (search: Search) => void
}): ReactNode {
  if (hits.posts === undefined && hits.error !== null) {
    // The form shows what is wrong with a search.
    if (isRefusal(hits.error)) return null
    return (
      <Panel>
        {isSearchOff(hits.error) ? <SearchIsOff /> : <ErrorState of={{ ...hits, refetch: hits.readMore }} />}
      </Panel>
    )
  }
  return (
    <>
      <CountsPanel
        request={request}
        hits={hits}
        onChoose={({ startMs, endMs }) =>
          onSearch({ ...search, span: { kind: "custom", from: instantText(startMs), until: instantText(endMs) } })
        }
      />
      <HitsPanel search={search} hits={hits} onSearch={onSearch} />
    </>
  )
}

function instantText(atMs: number): string {
  return new Date(atMs).toISOString()
}

function NothingSearched(): ReactNode {
  return (
    <Panel>
      <EmptyState title="Nothing searched yet">
        A query is a rule, such as <code>(heron OR 鷺) lang:en</code>. Enter searches, Shift+Enter begins a new line.
      </EmptyState>
    </Panel>
  )
}

function SearchIsOff(): ReactNode {
  return (
    <EmptyState title="The search is off">
      This server keeps no search index. Its operator turns it on with the setting <code>SLUICE_SEARCH=on</code> and a
      restart. The server then indexes the stored posts while it serves.
    </EmptyState>
  )
}
