import { Component, type ReactNode } from "react"
import { ErrorNote, ErrorState } from "./states.tsx"

interface Props {
  readonly children: ReactNode
  /** How much fails together: a page, a panel of one, or a card among others. */
  readonly of: "page" | "panel" | "card"
}

/** Shows a fault of a part of the console in its place; the rest goes on. */
export class ErrorBoundary extends Component<Props, { readonly error: unknown }> {
  override state = { error: undefined as unknown }

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    const { children, of } = this.props
    if (error === undefined) return children
    if (of === "card") return <ErrorNote error={error} />
    return <ErrorState isPage={of === "page"} error={error} onRetry={() => this.setState({ error: undefined })} />
  }
}
