import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"

/** Who may use this server, and the tokens that say so. */
export default function AppsPage(): ReactNode {
  return <PageHeader title="Apps and tokens">Who may use this server, and the tokens that say so.</PageHeader>
}
