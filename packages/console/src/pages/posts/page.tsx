import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"

/** A post as it is stored, and what it matched. */
export default function PostsPage(): ReactNode {
  return <PageHeader title="Posts">A post as it is stored, and what it matched.</PageHeader>
}
