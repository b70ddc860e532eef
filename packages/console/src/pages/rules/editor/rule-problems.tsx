import { parseRule } from "@sluice/rules"
import type { ReactNode } from "react"
import { Button } from "../../../components/button.tsx"
import styles from "./rule-problems.module.css"

/** The problems of a rule with their corrections, or that it is valid. Read aloud when it changes. */
export function RuleProblems({
  id,
  value,
  onChange,
}: {
  readonly id: string
  readonly value: string
  readonly onChange: (value: string) => void
}): ReactNode {
  const parsed = parseRule(value, { embeddings: true })
  return (
    <div id={id} className={styles["problems"]} role="status" data-testid="rule-problems">
      {value.trim() === "" ? (
        <p className={styles["quiet"]}>
          A space means AND, OR is in upper case, and a dash negates. Ctrl+Space completes operators.
        </p>
      ) : parsed.ok ? (
        <p className={styles["good"]}>The rule is valid.</p>
      ) : (
        parsed.problems.slice(0, 10).map(({ message, position, part, suggestion }) => (
          <p key={message} className={styles["problem"]}>
            <span>{message}</span>
            {suggestion !== undefined && part !== "" && (
              <Button
                size="small"
                onClick={() =>
                  onChange(value.slice(0, position - 1) + suggestion + value.slice(position - 1 + part.length))
                }
              >
                Use {suggestion}
              </Button>
            )}
          </p>
        ))
      )}
    </div>
  )
}
