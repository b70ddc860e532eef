import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"

/** What comes in, what matches, what is delivered, and what is wrong now. */
export default function OverviewPage(): ReactNode {
  return (
    <PageHeader title="Overview">What comes in, what matches, what is delivered, and what is wrong now.</PageHeader>
  )
}
