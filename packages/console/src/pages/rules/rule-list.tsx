import type { RuleDetail } from "@sluice/api"
import { useCallback, useDeferredValue, useEffect, useState, type ReactNode } from "react"
import { Link } from "wouter"
import { useApi } from "../../api/use-api.ts"
import { Badge } from "../../components/badge.tsx"
import { Icon } from "../../components/icon.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { Panel } from "../../components/panel.tsx"
import { RuleText } from "../../components/posts/rule-text.tsx"
import { EmptyState, ErrorState, Skeleton } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { VirtualList } from "../../components/lists/virtual-list.tsx"
import buttons from "../../components/button.module.css"
import { ExportRules } from "./files/export-rules.tsx"
import styles from "./rule-list.module.css"
import { useRules } from "./use-rules.ts"

/** The rules, newest first, with what each has matched. */
export function RuleList(): ReactNode {
  const [text, setText] = useState("")
  const wanted = useDeferredValue(text.trim())
  const { rules, isPending, isError, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useRules(wanted)
  const counts = useApi("ruleCounts", {}, { refetchMs: 30_000 })
  const total = counts.data?.data.client_app_rules_count.rule_count
  const readMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  // A page of a search may be empty although there are more.
  const isShort = rules.length < 20
  useEffect(() => {
    if (isShort) readMore()
  }, [isShort, readMore])

  const count = total === undefined ? "" : ` ${total.toLocaleString()} of at most ${capOf(counts.data)}.`
  return (
    <>
      <PageHeader
        title="Rules"
        actions={
          <>
            <Link href="/import" className={`${buttons["button"]} ${buttons["plain"]}`}>
              Import
            </Link>
            <ExportRules isDisabled={total === 0} />
            <Link href="/new" className={`${buttons["button"]} ${buttons["primary"]}`}>
              <Icon name="plus" size={14} />
              New rule
            </Link>
          </>
        }
      >
        What the stream and the webhooks of this app receive.{count}
      </PageHeader>
      <Panel
        isFlush
        actions={
          <label className={styles["search"]}>
            <Icon name="search" size={14} />
            <span className="visually-hidden">Search rules</span>
            <input
              type="search"
              placeholder="Search text, tag or id"
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          </label>
        }
      >
        {isError ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : isPending ? (
          <Waiting />
        ) : rules.length === 0 && !hasNextPage ? (
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
              rows={rules}
              rowKey={keyOf}
              row={rowOf}
              rowHeight={45}
              height="calc(100dvh - 300px)"
              onEnd={readMore}
            />
            <p className={styles["foot"]} role="status">
              {shownText(rules.length, wanted === "" ? total : undefined, hasNextPage)}
            </p>
          </>
        )}
      </Panel>
    </>
  )
}

function shownText(shown: number, total: number | undefined, areMore: boolean): string {
  if (!areMore) return `${shown.toLocaleString()} shown, all there are.`
  return total === undefined
    ? `${shown.toLocaleString()} found so far. Scroll for more.`
    : `${shown.toLocaleString()} of ${total.toLocaleString()} loaded. Scroll for more.`
}

function capOf(counts: { readonly data: { readonly cap_per_client_app: string } } | undefined): string {
  return Number(counts?.data.cap_per_client_app ?? 0).toLocaleString()
}

const keyOf = ({ id }: RuleDetail): string => id

function rowOf({ id, value, tag, matched, last_matched_at }: RuleDetail): ReactNode {
  return (
    <Link href={`/${id}`} className={styles["row"]}>
      <RuleText value={value} isLine />
      <span className={styles["tag"]}>{tag !== undefined && <Badge>{tag}</Badge>}</span>
      <span className={styles["count"]}>
        {matched.toLocaleString()}
        <span className="visually-hidden"> matches, last </span>
      </span>
      <span className={styles["last"]}>{last_matched_at === undefined ? "never" : <Time at={last_matched_at} />}</span>
    </Link>
  )
}

function Waiting(): ReactNode {
  return Array.from({ length: 6 }, (_, at) => (
    <div key={at} className={styles["row"]} aria-busy="true">
      <Skeleton width="60%" />
    </div>
  ))
}

function NoRules({ isSearch }: { readonly isSearch: boolean }): ReactNode {
  if (isSearch) return <EmptyState title="No rule contains this">The text, the tag and the id are searched.</EmptyState>
  return (
    <EmptyState
      title="There are no rules yet"
      action={
        <Link href="/new" className={`${buttons["button"]} ${buttons["primary"]}`}>
          Write the first rule
        </Link>
      }
    >
      A rule says which posts you want, for example <code>(heron OR 鷺) -is:retweet</code>. Without one, nothing is
      delivered.
    </EmptyState>
  )
}
