import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"
import { ConnectionsPanel } from "./connections-panel.tsx"

/** The stream connections of the app: those that are open, and those of the last 7 days. */
export default function ConnectionsPage(): ReactNode {
  return (
    <>
      <PageHeader title="Connections">
        Clients that read a stream of this app. A connection that a client left open keeps its place until it ends.
      </PageHeader>
      <ConnectionsPanel />
    </>
  )
}
