import { parseRule } from "@sluice/rules"
import type { ReactNode } from "react"
import { Button } from "../../../components/button.tsx"
import styles from "./edit-rule.module.css"

/** Whether the rule can be saved, and else why not, with what would be right. Read aloud when it changes. */
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
          A space is AND, OR is in upper case, a dash negates. Control and space completes operators.
        </p>
      ) : parsed.ok ? (
        <p className={styles["good"]}>The rule can be used.</p>
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
