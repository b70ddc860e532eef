import type { Source } from "@sluice/api"
import type { ReactNode } from "react"
import { Badge } from "../../components/badge.tsx"
import { Muted } from "../../components/muted.tsx"
import { Panel } from "../../components/panel.tsx"
import { Time } from "../../components/time.tsx"
import { currentError } from "./source-state.tsx"
import styles from "./source-troubles.module.css"

/** An error or a notice. */
interface Trouble {
  readonly kind: "Error" | "Past error" | "Notice"
  readonly message: string
  readonly advice: string | undefined
  readonly at: string
}

const tones = { Error: "bad", "Past error": "neutral", Notice: "warning" } as const

/** The last error and the notices of a source, each with its remedy. Nothing when all is well. */
export function SourceTroubles({ source }: { readonly source: Source }): ReactNode {
  const troubles = troublesOf(source)
  if (troubles.length === 0) return null
  return (
    <Panel title="What to do" isFlush>
      <ul aria-live="polite">
        {troubles.map(({ kind, message, advice, at }) => (
          <li key={message} className={styles["trouble"]}>
            <Badge tone={tones[kind]}>{kind}</Badge>
            <div className={styles["text"]}>
              <p>
                {message}{" "}
                <Muted>
                  <Time at={at} />
                </Muted>
              </p>
              {advice !== undefined && <p className={styles["advice"]}>{advice}</p>}
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function troublesOf(source: Source): readonly Trouble[] {
  const { last_error: error, notices } = source
  const kind = currentError(source) === undefined ? "Past error" : "Error"
  return [
    ...(error === undefined ? [] : [{ kind, message: error.message, advice: error.advice, at: error.at } as const]),
    ...notices.map(({ message, advice, since: at }) => ({ kind: "Notice", message, advice, at }) as const),
  ]
}
