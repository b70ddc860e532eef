import { Menu as BaseMenu } from "@base-ui/react/menu"
import type { ReactElement, ReactNode } from "react"
import styles from "./menu.module.css"

/** A button that opens a list of actions. `isDanger` marks those that cannot be undone. */
export function Menu({
  button,
  items,
  children,
}: {
  /** A `Button` without content, which `children` fill. */
  readonly button: ReactElement
  readonly items: readonly { readonly text: string; readonly isDanger?: boolean; readonly onChoose: () => void }[]
  readonly children: ReactNode
}): ReactNode {
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger render={button}>{children}</BaseMenu.Trigger>
      <BaseMenu.Portal>
        <BaseMenu.Positioner align="end" sideOffset={4} className={styles["positioner"] ?? ""}>
          <BaseMenu.Popup className={styles["popup"] ?? ""}>
            {items.map(({ text, isDanger = false, onChoose }) => (
              <BaseMenu.Item key={text} className={styles["item"] ?? ""} data-danger={isDanger} onClick={onChoose}>
                {text}
              </BaseMenu.Item>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}
