import { AlertDialog } from "@base-ui/react/alert-dialog"
import { Dialog as BaseDialog } from "@base-ui/react/dialog"
import { useId, type ReactNode } from "react"
import { Button } from "../button.tsx"
import { Form, type FormChange } from "../form.tsx"
import { Icon } from "../icon.tsx"
import { ErrorNote } from "../states.tsx"
import styles from "./dialog.module.css"

/** A window over the page, open as long as it is rendered. Escape and the cross call `onClose`. */
export function Dialog({
  onClose,
  title,
  description,
  actions,
  isWide = false,
  children,
}: {
  readonly onClose: () => void
  readonly title: string
  readonly description?: ReactNode
  /** Buttons at its foot, the main one last. */
  readonly actions?: ReactNode
  readonly isWide?: boolean
  readonly children?: ReactNode
}): ReactNode {
  return (
    <BaseDialog.Root open onOpenChange={(open) => !open && onClose()}>
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

/** A dialog with a form: its fields, what went wrong, Cancel, and the button `action` that submits it. */
export function FormDialog({
  action,
  onSubmit,
  change,
  isDisabled = false,
  onClose,
  children,
  ...dialog
}: {
  readonly title: string
  readonly description?: ReactNode
  readonly action: string
  readonly onSubmit: () => void
  readonly change: FormChange
  readonly isDisabled?: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}): ReactNode {
  const id = useId()
  return (
    <Dialog
      {...dialog}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" form={id} isBusy={change.isPending} disabled={isDisabled}>
            {action}
          </Button>
        </>
      }
    >
      <Form id={id} onSubmit={onSubmit}>
        {children}
        <ErrorNote error={change.error} />
      </Form>
    </Dialog>
  )
}

/** The question of `useConfirmedChange`, open as long as it is rendered. `action` is one verb, on the button. */
export function Confirm({
  onClose,
  title,
  action,
  onConfirm,
  isBusy,
  error,
  children,
}: {
  readonly onClose: () => void
  readonly title: string
  readonly action: string
  readonly onConfirm: () => void
  readonly isBusy: boolean
  readonly error: unknown
  readonly children: ReactNode
}): ReactNode {
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && onClose()}>
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
