import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"

/** Matches as they come. */
export default function LivePage(): ReactNode {
  return <PageHeader title="Live">Matches as they come.</PageHeader>
}
