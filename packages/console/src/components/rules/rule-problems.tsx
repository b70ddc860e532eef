import { absentOperators, parseRule, type Mode } from "@sluice/rules"
import { Fragment, type ReactNode } from "react"
import { Button } from "../button.tsx"
import { ruleOptions } from "./rule-options.ts"
import styles from "./rule-problems.module.css"

const nouns: Readonly<Record<Mode, string>> = { stream: "rule", search: "query" }

/**
 * The problems of a rule or of a query with their corrections, or that it is valid, and its operators that X has
 * elsewhere only. Read aloud when it changes.
 */
export function RuleProblems({
  id,
  value,
  onChange,
  mode,
}: {
  readonly id: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly mode: Mode
}): ReactNode {
  const parsed = parseRule(value, ruleOptions[mode])
  return (
    <div id={id} className={styles["problems"]} role="status" data-testid="rule-problems">
      {value.trim() === "" ? (
        <p className={styles["quiet"]}>
          A space means AND, OR is in upper case, and a dash negates. Ctrl+Space completes operators.
        </p>
      ) : parsed.ok ? (
        <>
          <p className={styles["good"]}>The {nouns[mode]} is valid.</p>
          <Elsewhere operators={absentOperators(value, mode)} mode={mode} />
        </>
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

/** Says that X has operators in the other mode only; nothing without one. */
function Elsewhere({ operators, mode }: { readonly operators: readonly string[]; readonly mode: Mode }): ReactNode {
  if (operators.length === 0) return null
  return (
    <p className={styles["quiet"]}>
      X has{" "}
      {operators.map((operator, index) => (
        <Fragment key={operator}>
          {index > 0 && (index === operators.length - 1 ? " and " : ", ")}
          <code>{operator}</code>
        </Fragment>
      ))}{" "}
      {mode === "search" ? "on its stream" : "in searches"} only. Sluice has {operators.length === 1 ? "it" : "them"} in
      both, unless the server runs with <code>SLUICE_RULE_DIALECT=strict</code>.
    </p>
  )
}
