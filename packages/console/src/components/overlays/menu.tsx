import { Menu } from "@base-ui/react/menu"
import type { ReactNode } from "react"
import { Button } from "../button.tsx"
import { Icon } from "../icon.tsx"
import styles from "./menu.module.css"

/** Actions that are rare or cannot be undone, out of the way of the others. */
export function MoreMenu({
  label,
  items,
}: {
  /** Completes the name: "More actions for the webhook". */
  readonly label: string
  readonly items: readonly { readonly text: string; readonly isDanger?: boolean; readonly onChoose: () => void }[]
}): ReactNode {
  return (
    <Menu.Root>
      <Menu.Trigger render={<Button aria-label={`More actions for ${label}`} />}>
        <Icon name="more" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="end" sideOffset={4} className={styles["positioner"] ?? ""}>
          <Menu.Popup className={styles["popup"] ?? ""}>
            {items.map(({ text, isDanger = false, onChoose }) => (
              <Menu.Item key={text} className={styles[isDanger ? "danger" : "item"] ?? ""} onClick={onChoose}>
                {text}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
