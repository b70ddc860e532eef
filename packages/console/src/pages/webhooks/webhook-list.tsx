/** The webhooks of an app with their delivery status, read page by page as the viewer scrolls. */
import type { WebhookDetail } from "@sluice/api"
import { useDeferredValue, useState, type ReactNode } from "react"
import { Link } from "wouter"
import { useApiPages } from "../../api/use-api-pages.ts"
import { AutoRefresh } from "../../components/auto-refresh.tsx"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { countText, nounText } from "../../components/counts.ts"
import { Icon } from "../../components/icon.tsx"
import { SearchField } from "../../components/lists/search-field.tsx"
import { VirtualList } from "../../components/lists/virtual-list.tsx"
import { Muted } from "../../components/muted.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorState, Skeleton } from "../../components/states.tsx"
import { AddWebhook } from "./add-webhook.tsx"
import { conditionOf } from "./condition.ts"
import styles from "./webhook-list.module.css"

/** Webhooks that one request returns. */
const pageSize = 100

const refetchMs = 4_000

/** The list, with a search and a button that adds a webhook. */
export function WebhookList(): ReactNode {
  const [search, setSearch] = useState("")
  const [isAdding, setIsAdding] = useState(false)
  const [isPaused, setIsPaused] = useState(false)
  const url = useDeferredValue(search.trim())
  const list = useApiPages(
    "webhookDetails",
    { max_results: pageSize, url: url === "" ? undefined : url },
    { refetchMs, isPaused },
  )
  const { rows, hasMore } = list
  const addButton = (
    <Button kind="primary" onClick={() => setIsAdding(true)}>
      <Icon name="plus" size={14} />
      Add a webhook
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Webhooks and links"
        actions={
          <>
            <AutoRefresh isPaused={isPaused} onChange={setIsPaused} />
            {addButton}
          </>
        }
      >
        Endpoints and their delivery status.
      </PageHeader>
      {list.error !== null ? (
        <ErrorState of={list} />
      ) : rows?.length === 0 && url === "" ? (
        <Panel>
          <EmptyState title="No webhooks yet" action={addButton}>
            A webhook is the URL of a program that receives matches. It is added once it answers a challenge; linked to
            the stream, it receives every match. To try it without a program, run <code>sluice listen</code>.
          </EmptyState>
        </Panel>
      ) : (
        <Panel
          isFlush
          title={
            rows === undefined
              ? "Webhooks"
              : hasMore
                ? `${countText(rows.length)} or more webhooks`
                : nounText(rows.length, "webhook")
          }
          actions={<SearchField label="Search by URL" value={search} onChange={setSearch} />}
        >
          <div className={`${styles["row"]} ${styles["head"]}`} aria-hidden="true">
            <span>Endpoint</span>
            <span>State</span>
            <span className={styles["number"]}>Undelivered</span>
            <span className={styles["number"]}>Delivered</span>
            <span className={styles["number"]}>Retrying</span>
            <span className={styles["number"]}>Dead letters</span>
          </div>
          {rows === undefined ? (
            <ListSkeleton />
          ) : rows.length === 0 ? (
            <EmptyState title="No webhook has this in its URL">Search for another part of the URL.</EmptyState>
          ) : (
            <VirtualList
              label="Webhooks"
              rows={rows}
              rowKey={({ id }) => id}
              row={(webhook) => <Row webhook={webhook} />}
              rowHeight={53}
              height="calc(100vh - 260px)"
              onEnd={list.readOn}
            />
          )}
        </Panel>
      )}
      {isAdding && <AddWebhook onClose={() => setIsAdding(false)} />}
    </>
  )
}

function Row({ webhook }: { readonly webhook: WebhookDetail }): ReactNode {
  const { id, url, name, link } = webhook
  const { tone, text } = conditionOf(webhook)
  return (
    <Link href={`/${id}`} className={styles["row"]}>
      <span className={styles["url"]} title={url}>
        <span>{name ?? url}</span>
        {name !== undefined && <Muted>{url}</Muted>}
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

/** A number; its name shows on narrow screens, where the list has no head. */
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

function ListSkeleton(): ReactNode {
  return (
    <div aria-busy="true">
      {Array.from({ length: 5 }, (_, index) => (
        <div key={index} className={styles["row"]}>
          <Skeleton width="70%" />
          <Skeleton width="60px" />
        </div>
      ))}
    </div>
  )
}
