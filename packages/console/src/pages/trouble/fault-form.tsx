import type { ReactNode } from "react"
import { Button } from "../../components/button.tsx"
import { Form, type FormChange } from "../../components/form.tsx"
import { Panel } from "../../components/panel.tsx"
import { ErrorNote } from "../../components/states.tsx"
import styles from "./fault-form.module.css"

/** A panel with the fields of a fault, a sentence about its effect, and the button `action`. */
export function FaultForm({
  title,
  hint,
  action,
  change,
  onSubmit,
  children,
}: {
  readonly title: string
  readonly hint: string
  readonly action: string
  readonly change: FormChange
  readonly onSubmit: () => void
  readonly children: ReactNode
}): ReactNode {
  return (
    <Panel title={title}>
      <Form onSubmit={onSubmit}>
        <div className={styles["fields"]}>{children}</div>
        <p className={styles["hint"]}>{hint}</p>
        <ErrorNote error={change.error} />
        <div>
          <Button kind="primary" type="submit" isBusy={change.isPending}>
            {action}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}
