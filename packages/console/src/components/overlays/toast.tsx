import { Toast } from "@base-ui/react/toast"
import { useCallback, type ReactNode } from "react"
import { Icon } from "../icon.tsx"
import styles from "./toast.module.css"

/** The place of the toasts. Around everything that shows one. */
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

/** A function that says in passing that something was done. What failed is shown where it failed, not in a toast. */
export function useToast(): (text: string) => void {
  const { add } = Toast.useToastManager()
  return useCallback((text: string) => void add({ title: text }), [add])
}
