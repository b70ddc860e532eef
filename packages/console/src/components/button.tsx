import type { ComponentProps, ReactNode } from "react"
import styles from "./button.module.css"

interface ButtonProps extends ComponentProps<"button"> {
  /** `primary` once in a view; `danger` for what cannot be undone; `quiet` in rows of tables. */
  readonly kind?: "plain" | "primary" | "danger" | "quiet"
  /** Its request runs: it stays where it is, and cannot be pressed again. */
  readonly isBusy?: boolean
  readonly size?: "normal" | "small"
}

/** A button. */
export function Button({
  kind = "plain",
  size = "normal",
  isBusy = false,
  className = "",
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
      className={`${styles["button"]} ${styles[kind]} ${styles[size]} ${className}`}
    >
      {children}
    </button>
  )
}
