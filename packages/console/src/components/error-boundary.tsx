import { Component, type ReactNode } from "react"
import { ErrorNote, ErrorState } from "./states.tsx"

interface Props {
  readonly children: ReactNode
  /** The part that fails as a whole: a page, a panel, or a card in a list. */
  readonly of: "page" | "panel" | "card"
}

/** Shows an error of one part of the console in its place; the other parts keep working. */
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
    return <ErrorState isPage={of === "page"} of={{ error, refetch: () => this.setState({ error: undefined }) }} />
  }
}
