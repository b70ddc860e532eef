import type { ReactNode } from "react"
import { Button } from "../../components/button.tsx"
import { CopyButton } from "../../components/copy-button.tsx"
import { Dialog } from "../../components/overlays/dialog.tsx"
import styles from "./secrets-dialog.module.css"

/** Secrets that the server shows only once, by name. */
export interface Secrets {
  readonly title: string
  readonly values: Readonly<Record<string, string>>
}

/** Shows new secrets, each with a button that copies it. */
export function SecretsDialog({
  secrets: { title, values },
  onClose,
}: {
  readonly secrets: Secrets
  readonly onClose: () => void
}): ReactNode {
  return (
    <Dialog
      onClose={onClose}
      title={title}
      description="These values are shown only once. Copy what you need before you close this dialog."
      isWide
      actions={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <dl className={styles["secrets"]}>
        {Object.entries(values).map(([name, value]) => (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>
              <code>{value}</code>
              <CopyButton text={value} what={`the ${name.replaceAll("_", " ")}`} />
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
