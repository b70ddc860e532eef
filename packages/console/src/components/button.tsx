import type { ComponentProps, ReactNode } from "react"
import styles from "./button.module.css"

/** `primary`: at most one in a view. `danger`: cannot be undone. `quiet`: in rows of tables. */
export type ButtonKind = "plain" | "primary" | "danger" | "quiet"

type ButtonSize = "normal" | "small"

interface ButtonProps extends Omit<ComponentProps<"button">, "className"> {
  readonly kind?: ButtonKind
  /** Its request is running: it cannot be pressed again. */
  readonly isBusy?: boolean
  readonly size?: ButtonSize
}

/** A button. */
export function Button({
  kind = "plain",
  size = "normal",
  isBusy = false,
  disabled,
  children,
  type = "button",
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      {...rest}
      // oxlint-disable-next-line react/button-has-type -- the default is "button"
      type={type}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy}
      className={buttonClasses(kind, size)}
    >
      {children}
    </button>
  )
}

/** The classes of a button, for elements that look like one. */
export function buttonClasses(kind: ButtonKind, size: ButtonSize): string {
  return `${styles["button"]} ${styles[kind]} ${styles[size]}`
}
