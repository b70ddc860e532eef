import type { MatchingRule } from "@sluice/api"
import { useMemo, useState, type ReactNode } from "react"
import { Link } from "wouter"
import { AutoRefresh } from "../../components/auto-refresh.tsx"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { countText } from "../../components/counts.ts"
import { PageHeader } from "../../components/page-header.tsx"
import { Panel } from "../../components/panel.tsx"
import { PostCard } from "../../components/posts/post-card.tsx"
import { EmptyState } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { VirtualList } from "../../components/lists/virtual-list.tsx"
import { VisuallyHidden } from "../../components/visually-hidden.tsx"
import { MatchDetails } from "./match-details.tsx"
import styles from "./live.module.css"
import { keptMax, useMatches, type LiveMatch } from "./use-matches.ts"

const stateTexts = {
  connecting: "Connecting",
  live: "Live",
  paused: "Auto-refresh is off",
  waiting: "Reconnecting",
} as const

/** New matches, as they arrive. */
export default function LivePage(): ReactNode {
  const [isPaused, setIsPaused] = useState(false)
  const [rule, setRule] = useState("")
  const [open, setOpen] = useState<LiveMatch>()
  const { matches, state, error } = useMatches(isPaused)
  const rules = useMemo(() => rulesOf(matches), [matches])
  const shown = useMemo(
    () => (rule === "" ? matches : matches.filter((match) => match.rules.some(({ id }) => id === rule))),
    [matches, rule],
  )
  return (
    <>
      <PageHeader title="Live" actions={<AutoRefresh isPaused={isPaused} onChange={setIsPaused} />}>
        New matches of this app. This page does not count as its stream connection.
      </PageHeader>
      <Panel
        isFlush
        error={error}
        foot={`${countText(shown.length)} shown. The page keeps the newest ${countText(keptMax)}.`}
        title={
          <span className={styles["state"]} role="status">
            <Badge tone={state === "live" ? "good" : state === "waiting" ? "warning" : "neutral"}>
              {stateTexts[state]}
            </Badge>
          </span>
        }
        actions={
          <label className={styles["filter"]}>
            <span>Rule</span>
            <select value={rule} onChange={({ target }) => setRule(target.value)}>
              <option value="">all</option>
              {rules.map(({ id, tag }) => (
                <option key={id} value={id}>
                  {nameOf({ id, tag })}
                </option>
              ))}
            </select>
          </label>
        }
      >
        {shown.length === 0 ? (
          <NoMatches isFiltered={rule !== ""} />
        ) : (
          <VirtualList
            label="Matches"
            rows={shown}
            rowKey={({ position }) => String(position)}
            row={(match) => matchRow(match, setOpen, setRule)}
            rowHeight={92}
            height="calc(100dvh - 260px)"
          />
        )}
      </Panel>
      {open !== undefined && <MatchDetails match={open} onClose={() => setOpen(undefined)} />}
    </>
  )
}

/** The rules that the matches name, without repetitions. */
function rulesOf(matches: readonly LiveMatch[]): readonly MatchingRule[] {
  const byId = new Map(matches.flatMap(({ rules }) => rules.map((one) => [one.id, one] as const)))
  return [...byId.values()].toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)))
}

/** The tag of a rule, or its id. */
function nameOf({ id, tag }: MatchingRule): string {
  return tag === "" ? id : tag
}

function matchRow(match: LiveMatch, onInspect: (match: LiveMatch) => void, onRule: (id: string) => void): ReactNode {
  return (
    <div className={styles["row"]}>
      <PostCard envelope={match.envelope} />
      <div className={styles["beside"]}>
        <span className={styles["matched"]}>
          matched <Time at={match.matchedAt} />
        </span>
        {match.rules.slice(0, 5).map(({ id, tag }) => (
          <button key={id} type="button" className={styles["rule"]} onClick={() => onRule(id)}>
            <VisuallyHidden>Show only the rule </VisuallyHidden>
            <span>{nameOf({ id, tag })}</span>
          </button>
        ))}
        {match.rules.length > 5 && <span>and {match.rules.length - 5} more</span>}
        <Button size="small" onClick={() => onInspect(match)} aria-label={`Inspect match ${match.position}`}>
          Inspect
        </Button>
      </div>
    </div>
  )
}

function NoMatches({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  if (isFiltered) return <EmptyState title="No matches of this rule yet">Other rules may have matches.</EmptyState>
  return (
    <EmptyState title="No matches yet" action={<Link href="~/console/rules">Show the rules</Link>}>
      A match appears here as soon as a post matches a rule of this app.
    </EmptyState>
  )
}
