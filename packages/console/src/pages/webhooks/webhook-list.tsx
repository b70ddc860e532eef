/** The webhooks of an app, with how the delivery to each does. Read in pages as they are scrolled to. */
import type { WebhookDetail } from "@sluice/api"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useCallback, useDeferredValue, useState, type ReactNode } from "react"
import { Link } from "wouter"
import { useSession } from "../../api/session.ts"
import { AutoRefresh } from "../../components/auto-refresh.tsx"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { Field } from "../../components/field.tsx"
import { Icon } from "../../components/icon.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorState, Skeleton } from "../../components/states.tsx"
import { VirtualList } from "../../components/lists/virtual-list.tsx"
import { AddWebhook } from "./add-webhook.tsx"
import { conditionOf, countText } from "./condition.ts"
import styles from "./webhooks.module.css"

/** Webhooks that one request returns. */
const pageSize = 100

/** Time between two reads of what is shown; more of it is read less often. */
const refetchMs = 4_000
const manyRefetchMs = 20_000
const manyPages = 2

/** The list, with a search and a way to add one. */
export function WebhookList(): ReactNode {
  const [search, setSearch] = useState("")
  const [isAdding, setIsAdding] = useState(false)
  const [isPaused, setIsPaused] = useState(false)
  const url = useDeferredValue(search.trim())
  const query = useWebhooks(url, isPaused)
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  const webhooks = data?.pages.flatMap((page) => page.data) ?? []
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  const isEmpty = data !== undefined && webhooks.length === 0
  return (
    <>
      <PageHeader
        title="Webhooks and links"
        actions={
          <>
            <AutoRefresh isPaused={isPaused} onChange={setIsPaused} />
            <Button kind="primary" onClick={() => setIsAdding(true)}>
              <Icon name="plus" size={14} />
              Add a webhook
            </Button>
          </>
        }
      >
        Endpoints and their delivery status.
      </PageHeader>
      {query.isError && data === undefined ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : isEmpty && url === "" ? (
        <NoWebhooks onAdd={() => setIsAdding(true)} />
      ) : (
        <Panel
          isFlush
          title={
            data === undefined
              ? "Webhooks"
              : `${countText(webhooks.length)}${hasNextPage ? " or more" : ""} ${webhooks.length === 1 ? "webhook" : "webhooks"}`
          }
          actions={<Search text={search} onChange={setSearch} />}
        >
          <div className={`${styles["webhook"]} ${styles["head"]}`} aria-hidden="true">
            <span>Endpoint</span>
            <span>State</span>
            <span className={styles["number"]}>Undelivered</span>
            <span className={styles["number"]}>Delivered</span>
            <span className={styles["number"]}>Retrying</span>
            <span className={styles["number"]}>Dead letters</span>
          </div>
          {data === undefined ? (
            <ListSkeleton />
          ) : isEmpty ? (
            <EmptyState title="None of your webhooks has this in its URL">Search for another part of it.</EmptyState>
          ) : (
            <VirtualList
              label="Webhooks"
              rows={webhooks}
              rowKey={({ id }) => id}
              row={renderRow}
              rowHeight={53}
              height="calc(100vh - 260px)"
              onEnd={onEnd}
            />
          )}
        </Panel>
      )}
      {isAdding && <AddWebhook onClose={() => setIsAdding(false)} />}
    </>
  )
}

/** The webhooks whose URL has this text, page after page. */
function useWebhooks(url: string, isPaused: boolean) {
  const { client, appId } = useSession()
  return useInfiniteQuery({
    queryKey: ["webhookDetails", appId, url],
    queryFn: ({ pageParam, signal }) =>
      client.request("GET", "webhookDetails", {
        signal,
        query: {
          max_results: pageSize,
          ...(url !== "" && { url }),
          ...(pageParam !== "" && { pagination_token: pageParam }),
        },
      }),
    initialPageParam: "",
    getNextPageParam: ({ meta }) => meta.next_token,
    refetchInterval: ({ state }) =>
      isPaused ? false : (state.data?.pages.length ?? 0) > manyPages ? manyRefetchMs : refetchMs,
    placeholderData: (previous) => previous,
  })
}

function Search({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }): ReactNode {
  return (
    <div className={styles["search"]}>
      <Field label={<span className="visually-hidden">Find by URL</span>}>
        {(attributes) => (
          <input
            {...attributes}
            type="search"
            placeholder="Find by URL"
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Field>
    </div>
  )
}

function renderRow(webhook: WebhookDetail): ReactNode {
  return <Row webhook={webhook} />
}

function Row({ webhook }: { readonly webhook: WebhookDetail }): ReactNode {
  const { id, url, link } = webhook
  const { tone, text } = conditionOf(webhook)
  return (
    <Link href={`/${id}`} className={`${styles["webhook"]} ${styles["linked"]}`}>
      <span className={styles["url"]} title={url}>
        {url}
      </span>
      <span>
        <Badge tone={tone}>{text}</Badge>
      </span>
      <Count name="undelivered" count={link?.undelivered} />
      <Count name="delivered" count={link?.total.delivered} />
      <Count name="retrying" count={link?.total.retrying} />
      <Count name="dead letters" count={link?.total.dead_letters} isBad />
    </Link>
  )
}

/** A number with its name, which shows where there is no room for the head of the list. */
function Count({
  name,
  count,
  isBad = false,
}: {
  readonly name: string
  readonly count: number | undefined
  readonly isBad?: boolean
}): ReactNode {
  return (
    <span className={`${styles["number"]} ${isBad && (count ?? 0) > 0 ? styles["bad"] : ""}`}>
      {count === undefined ? "–" : countText(count)}
      <span className={styles["name"]}> {name}</span>
    </span>
  )
}

function NoWebhooks({ onAdd }: { readonly onAdd: () => void }): ReactNode {
  return (
    <Panel>
      <EmptyState
        title="No webhooks yet"
        action={
          <Button kind="primary" onClick={onAdd}>
            Add a webhook
          </Button>
        }
      >
        A webhook is the address of your own program. It proves that it is yours by answering a challenge; once it is
        linked to the stream, every match is sent to it. To try that without a program: <code>sluice listen</code>.
      </EmptyState>
    </Panel>
  )
}

function ListSkeleton(): ReactNode {
  return (
    <div aria-busy="true">
      {Array.from({ length: 5 }, (_, index) => (
        <div key={index} className={styles["webhook"]}>
          <Skeleton width="70%" />
          <Skeleton width="60px" />
        </div>
      ))}
    </div>
  )
}
