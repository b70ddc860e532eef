/** What to do on a new server: shown until all of it is done. */
import type { OverviewBody } from "@sluice/api"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { useConnectionLostAt } from "../../api/connection.ts"
import { useSession } from "../../api/session.ts"
import { CodeBlock } from "../../components/code-block.tsx"
import { Icon } from "../../components/icon.tsx"
import { Panel } from "../../components/panel.tsx"
import styles from "./overview.module.css"

/** The steps that are left; nothing when there are none. */
export function FirstSteps({ counts }: { readonly counts: OverviewBody["data"]["counts"] }): ReactNode {
  const { kind } = useSession()
  const isLost = useConnectionLostAt() !== undefined
  const steps = [
    ...(counts.apps === undefined || kind !== "operator"
      ? []
      : [
          {
            title: "Create an app",
            isDone: counts.apps > 0,
            text: <Link href="/apps">Rules, webhooks and links belong to an app.</Link>,
          },
        ]),
    {
      title: "Add a rule",
      isDone: counts.rules > 0,
      text: <Link href="/rules">Say which posts should match, and try it on posts before you save it.</Link>,
    },
    {
      title: "Send posts in",
      isDone: counts.has_posts,
      text: (
        <>
          <p>Sluice fetches nothing by itself: posts come from you, a line of JSON each.</p>
          <CodeBlock what="the command that sends a post" text={sendCommand} />
        </>
      ),
    },
    {
      title: "Have matches delivered",
      isDone: counts.links > 0,
      text: <Link href="/webhooks">Register a webhook and link it, or read the stream.</Link>,
    },
  ]
  if (steps.every(({ isDone }) => isDone)) return null
  return (
    <Panel title="First steps">
      <ol className={styles["steps"]}>
        {steps.map(({ title, isDone, text }, index) => (
          <li key={title} className={isDone ? styles["done"] : ""}>
            <span className={styles["stepMark"]} aria-hidden="true">
              {isDone && !isLost ? <Icon name="check" size={13} /> : index + 1}
            </span>
            <div>
              <h3>
                {title}
                {isDone && <span className="visually-hidden"> (done)</span>}
              </h3>
              {!isDone && <div className={styles["stepText"]}>{text}</div>}
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

const sendCommand = `echo '{"data":{"id":"'$(date +%s%N)'","text":"A cat at the gate","author_id":"7"}}' | npx sluice import -`
