import { Component, type ReactNode } from "react"
import { ErrorState } from "../components/states.tsx"

/** Shows a fault of a page in its place; the rest of the console goes on. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: undefined as unknown }

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error }
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children
    return <ErrorState isPage error={this.state.error} onRetry={() => this.setState({ error: undefined })} />
  }
}
