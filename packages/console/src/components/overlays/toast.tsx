import { Toast } from "@base-ui/react/toast"
import { useCallback, type ReactNode } from "react"
import { Icon } from "../icon.tsx"
import styles from "./toast.module.css"

/** Shows the toasts of its children. */
export function Toasts({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <Toast.Provider timeout={5_000}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className={styles["viewport"]}>
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function List(): ReactNode {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={styles["toast"]} data-tone={toast.type}>
      <Toast.Content className={styles["content"]}>
        <Toast.Title className={styles["title"]} render={<p />} />
        <Toast.Close className={styles["close"]} aria-label="Dismiss">
          <Icon name="close" size={14} />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}

/** A function that confirms a completed change in a toast. Errors are shown next to their cause instead. */
export function useToast(): (text: string) => void {
  const { add } = Toast.useToastManager()
  return useCallback((text: string) => void add({ title: text }), [add])
}
