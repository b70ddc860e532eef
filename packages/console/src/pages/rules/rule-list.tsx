import type { RuleDetail } from "@sluice/api"
import { useDeferredValue, useEffect, useState, type ReactNode } from "react"
import { Link } from "wouter"
import { useApiPages } from "../../api/use-api-pages.ts"
import { useApi } from "../../api/use-api.ts"
import { Badge } from "../../components/badge.tsx"
import { ButtonLink } from "../../components/button-link.tsx"
import { countText } from "../../components/counts.ts"
import { Icon } from "../../components/icon.tsx"
import { SearchField } from "../../components/lists/search-field.tsx"
import { VirtualList } from "../../components/lists/virtual-list.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { Panel } from "../../components/panel.tsx"
import { RuleText } from "../../components/posts/rule-text.tsx"
import { EmptyState, ErrorState, Skeleton } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { VisuallyHidden } from "../../components/visually-hidden.tsx"
import { ExportRules } from "./files/export-rules.tsx"
import styles from "./rule-list.module.css"

/** Rules that one request returns: as many as a viewer scrolls past at once. */
const pageSize = 200

const refetchMs = 10_000

/** Rows that fill the list: with fewer, it cannot be scrolled to its end. */
const rowsMin = 20

/** The rules, newest first, each with the number of its matches. */
export function RuleList(): ReactNode {
  const [text, setText] = useState("")
  const wanted = useDeferredValue(text.trim())
  const query = { max_results: pageSize, query: wanted === "" ? undefined : wanted }
  const list = useApiPages("ruleDetails", query, { refetchMs })
  const { rows, hasMore, readOn } = list
  const counts = useApi("ruleCounts", {}, { refetchMs: 30_000 })
  const total = counts.data?.data.client_app_rules_count.rule_count
  // A page of a search may be empty although more follow.
  const isShort = rows !== undefined && rows.length < rowsMin
  useEffect(() => {
    if (isShort) readOn()
  }, [isShort, readOn])

  const count = total === undefined ? "" : ` ${countText(total)} of at most ${capOf(counts.data)}.`
  return (
    <>
      <PageHeader
        title="Rules"
        actions={
          <>
            <ButtonLink href="/import">Import</ButtonLink>
            <ExportRules isDisabled={total === 0} />
            <ButtonLink href="/new" kind="primary">
              <Icon name="plus" size={14} />
              New rule
            </ButtonLink>
          </>
        }
      >
        The stream and the webhooks of this app receive the posts that these rules match.{count}
      </PageHeader>
      <Panel
        isFlush
        actions={<SearchField label="Search text, tag or id" value={text} onChange={setText} />}
        foot={
          list.error === null &&
          rows !== undefined &&
          rows.length > 0 && (
            <span role="status">{shownText(rows.length, wanted === "" ? total : undefined, hasMore)}</span>
          )
        }
      >
        {list.error !== null ? (
          <ErrorState of={list} />
        ) : rows === undefined ? (
          <ListSkeleton />
        ) : rows.length === 0 && !hasMore ? (
          <NoRules isSearch={wanted !== ""} />
        ) : (
          <>
            <div className={`${styles["row"]} ${styles["head"]}`} aria-hidden="true">
              <span>Rule</span>
              <span>Tag</span>
              <span className={styles["count"]}>Matches</span>
              <span className={styles["last"]}>Last match</span>
            </div>
            <VirtualList
              label="Rules"
              rows={rows}
              rowKey={({ id }) => id}
              row={rowOf}
              rowHeight={45}
              height="calc(100dvh - 300px)"
              onEnd={readOn}
            />
          </>
        )}
      </Panel>
    </>
  )
}

function shownText(shown: number, total: number | undefined, areMore: boolean): string {
  if (!areMore) return `All ${countText(shown)} shown.`
  return total === undefined
    ? `${countText(shown)} found so far. Scroll for more.`
    : `${countText(shown)} of ${countText(total)} loaded. Scroll for more.`
}

function capOf(counts: { readonly data: { readonly cap_per_client_app: string } } | undefined): string {
  return countText(Number(counts?.data.cap_per_client_app ?? 0))
}

function rowOf({ id, value, tag, matched, last_matched_at }: RuleDetail): ReactNode {
  return (
    <Link href={`/${id}`} className={styles["row"]}>
      <RuleText value={value} isLine />
      <span className={styles["tag"]}>{tag !== undefined && <Badge>{tag}</Badge>}</span>
      <span className={styles["count"]}>
        {countText(matched)}
        <VisuallyHidden> matches, last </VisuallyHidden>
      </span>
      <span className={styles["last"]}>{last_matched_at === undefined ? "never" : <Time at={last_matched_at} />}</span>
    </Link>
  )
}

function ListSkeleton(): ReactNode {
  return Array.from({ length: 6 }, (_, at) => (
    <div key={at} className={styles["row"]} aria-busy="true">
      <Skeleton width="60%" />
    </div>
  ))
}

function NoRules({ isSearch }: { readonly isSearch: boolean }): ReactNode {
  if (isSearch) return <EmptyState title="No rules found">The search covers text, tag and id.</EmptyState>
  return (
    <EmptyState
      title="No rules yet"
      action={
        <ButtonLink href="/new" kind="primary">
          Add the first rule
        </ButtonLink>
      }
    >
      A rule selects posts, for example <code>(heron OR 鷺) -is:retweet</code>. Without rules, nothing is delivered.
    </EmptyState>
  )
}
