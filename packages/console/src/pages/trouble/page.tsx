import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"

/** Faults on demand, to see how a receiver takes them. */
export default function TroublePage(): ReactNode {
  return <PageHeader title="Trouble">Faults on demand, to see how a receiver takes them.</PageHeader>
}
