import type { ReactNode } from "react"
import { Link } from "wouter"
import { buttonClasses, type ButtonKind } from "./button.tsx"

/** A link that looks like a button: it leads to another view instead of changing this one. */
export function ButtonLink({
  href,
  kind = "plain",
  children,
}: {
  readonly href: string
  readonly kind?: ButtonKind
  readonly children: ReactNode
}): ReactNode {
  return (
    <Link href={href} className={buttonClasses(kind, "normal")}>
      {children}
    </Link>
  )
}
