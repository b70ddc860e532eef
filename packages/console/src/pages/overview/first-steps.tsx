/** The first steps on a new server, shown until all are done. */
import type { OverviewBody } from "@sluice/api"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { useConnectionLostAt } from "../../api/connection.ts"
import { useSession } from "../../api/session.ts"
import { CodeBlock } from "../../components/code-block.tsx"
import { Icon } from "../../components/icon.tsx"
import { Panel } from "../../components/panel.tsx"
import { VisuallyHidden } from "../../components/visually-hidden.tsx"
import styles from "./first-steps.module.css"

/** The steps, with the text of those that are not done; nothing once all are. */
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
      text: <Link href="/rules">Write a rule that selects posts, and test it before you save it.</Link>,
    },
    {
      title: "Send posts",
      isDone: counts.has_posts,
      text: (
        <>
          <p>Sluice does not fetch posts: you send them, one line of JSON each.</p>
          <CodeBlock what="the command that sends a post" text={sendCommand} />
        </>
      ),
    },
    {
      title: "Receive matches",
      isDone: counts.links > 0,
      text: <Link href="/webhooks">Add a webhook and link it, or read the stream.</Link>,
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
                {isDone && <VisuallyHidden> (done)</VisuallyHidden>}
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
