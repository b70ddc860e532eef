import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"

/** Where matches are sent, and how that goes. */
export default function WebhooksPage(): ReactNode {
  return <PageHeader title="Webhooks and links">Where matches are sent, and how that goes.</PageHeader>
}
