import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"

/** Which posts match, and what the rules match. */
export default function RulesPage(): ReactNode {
  return <PageHeader title="Rules">Which posts match, and what the rules match.</PageHeader>
}
