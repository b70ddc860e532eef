import { AlertDialog } from "@base-ui/react/alert-dialog"
import { Dialog as BaseDialog } from "@base-ui/react/dialog"
import type { ReactNode } from "react"
import { Button } from "../button.tsx"
import styles from "./dialog.module.css"
import { Icon } from "../icon.tsx"
import { ErrorNote } from "../states.tsx"

/** A window over the page. The page decides when it is open; Escape and the cross ask to close it. */
export function Dialog({
  isOpen,
  onClose,
  title,
  description,
  actions,
  isWide = false,
  children,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly title: string
  readonly description?: ReactNode
  /** Buttons at its foot, the main one last. */
  readonly actions?: ReactNode
  readonly isWide?: boolean
  readonly children?: ReactNode
}): ReactNode {
  return (
    <BaseDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={styles["backdrop"]} />
        <BaseDialog.Popup className={`${styles["popup"]} ${isWide ? styles["wide"] : ""}`}>
          <div className={styles["top"]}>
            <BaseDialog.Title>{title}</BaseDialog.Title>
            <BaseDialog.Close className={styles["close"]} aria-label="Close">
              <Icon name="close" />
            </BaseDialog.Close>
          </div>
          <div className={styles["body"]}>
            {description !== undefined && (
              <BaseDialog.Description render={<div />} className={styles["description"]}>
                {description}
              </BaseDialog.Description>
            )}
            {children}
          </div>
          {actions !== undefined && <div className={styles["actions"]}>{actions}</div>}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  )
}

/** Asks before something that cannot be undone. `action` says it in a word, on the button. */
export function Confirm({
  isOpen,
  onClose,
  title,
  action,
  onConfirm,
  isBusy = false,
  error,
  children,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly title: string
  readonly action: string
  readonly onConfirm: () => void
  readonly isBusy?: boolean
  readonly error?: unknown
  readonly children: ReactNode
}): ReactNode {
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={styles["backdrop"]} />
        <AlertDialog.Popup className={styles["popup"]}>
          <div className={styles["top"]}>
            <AlertDialog.Title>{title}</AlertDialog.Title>
          </div>
          <div className={styles["body"]}>
            <AlertDialog.Description render={<div />} className={styles["description"]}>
              {children}
            </AlertDialog.Description>
            <ErrorNote error={error} />
          </div>
          <div className={styles["actions"]}>
            <Button onClick={onClose}>Cancel</Button>
            <Button kind="danger" onClick={onConfirm} isBusy={isBusy}>
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
