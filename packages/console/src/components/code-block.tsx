import type { ReactNode } from "react"
import styles from "./code-block.module.css"
import { CopyButton } from "./copy-button.tsx"

/** Preformatted text with a button that copies it. It scrolls within its own frame. */
export function CodeBlock({
  text,
  what,
  maxHeight = "360px",
}: {
  readonly text: string
  /** A name for the button and for screen readers, such as "the request". */
  readonly what: string
  readonly maxHeight?: string
}): ReactNode {
  return (
    <div className={styles["block"]}>
      <pre tabIndex={0} role="region" aria-label={what} style={{ maxHeight }}>
        {text}
      </pre>
      <div className={styles["copy"]}>
        <CopyButton text={text} what={what} />
      </div>
    </div>
  )
}
