import type { OverviewBody, OverviewProblem } from "@sluice/api"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { useConnectionLostAt } from "../../api/connection.ts"
import { useSession } from "../../api/session.ts"
import { Badge } from "../../components/badge.tsx"
import { Icon } from "../../components/icon.tsx"
import { Panel } from "../../components/panel.tsx"
import { Skeleton } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import styles from "./problems.module.css"

/** The current problems, each with a link to the page that solves it. */
export function Problems({ data }: { readonly data: OverviewBody["data"] | undefined }): ReactNode {
  const isLost = useConnectionLostAt() !== undefined
  const problems = data?.problems ?? []
  const more = (data?.problem_count ?? 0) - problems.length
  return (
    <Panel title="Needs attention" isFlush>
      {data === undefined ? (
        <p className={styles["allGood"]}>
          <Skeleton width="220px" />
        </p>
      ) : problems.length === 0 && isLost ? (
        <p className={styles["allGood"]}>Unknown: there is no connection.</p>
      ) : problems.length === 0 ? (
        <p className={styles["allGood"]}>
          <span className={styles["good"]}>
            <Icon name="check" />
          </span>
          No problems.
        </p>
      ) : (
        <ul className={styles["problems"]} aria-live="polite">
          {problems.map((problem) => (
            <Problem
              key={`${problem.kind} ${problem.webhook_id ?? problem.application_id ?? ""} ${problem.title}`}
              problem={problem}
            />
          ))}
          {more > 0 && <li className={styles["more"]}>And {more.toLocaleString()} more.</li>}
        </ul>
      )}
    </Panel>
  )
}

function Problem({ problem }: { readonly problem: OverviewProblem }): ReactNode {
  const { kind, appId, chooseApp } = useSession()
  const {
    severity,
    title,
    detail,
    since,
    console_path: path,
    application_id: problemApp,
    application_name: appName,
    webhook_id: webhookId,
  } = problem
  return (
    <li className={styles["problem"]}>
      <SeverityBadge severity={severity} />
      <div className={styles["problemText"]}>
        <p className={styles["problemTitle"]}>
          <span>{title}</span>
          {since !== undefined && (
            <span className={styles["since"]}>
              {" · since "}
              <Time at={since} />
            </span>
          )}
        </p>
        <p>{detail}</p>
        {problemApp !== undefined && (
          <p className={styles["ids"]}>
            {appName !== undefined && (
              <>
                App <span>{appName}</span>
              </>
            )}
            {webhookId !== undefined && (
              <span title={webhookId}>
                {appName !== undefined && " · "}
                Webhook …{webhookId.slice(-idDigitsShown)}
              </span>
            )}
          </p>
        )}
      </div>
      {path !== undefined && (
        <Link
          href={path}
          className={styles["mend"] ?? ""}
          onClick={() => {
            // The page shows one app.
            if (kind === "operator" && problemApp !== undefined && problemApp !== appId) chooseApp(problemApp)
          }}
        >
          {kindActions[problem.kind] ?? "Show details"}
          <Icon name="chevron" size={14} />
        </Link>
      )}
    </li>
  )
}

function SeverityBadge({ severity }: Pick<OverviewProblem, "severity">): ReactNode {
  if (severity === "error") return <Badge tone="bad">Error</Badge>
  if (severity === "warning") return <Badge tone="warning">Warning</Badge>
  return <Badge tone="neutral">Note</Badge>
}

/** Digits of an id that distinguish the webhooks of an app; the whole id shows on hover. */
const idDigitsShown = 6

/** The text of the link, by kind of problem. */
const kindActions: Readonly<Record<string, string>> = {
  endpoint_down: "Show attempts",
  webhook_invalid: "Challenge again",
  gaps: "Show gaps",
  dead_letters: "Redeliver",
  lagging: "Show attempts",
  rules_skipped: "Show rules",
  paused: "Resume",
}
