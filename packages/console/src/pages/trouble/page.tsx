import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"
import { DisconnectForm } from "./disconnect-form.tsx"
import { TroubleForm } from "./trouble-form.tsx"
import { TroubleList } from "./trouble-list.tsx"

/** Faults on demand, to test receivers and stream clients. */
export default function TroublePage(): ReactNode {
  return (
    <>
      <PageHeader title="Trouble">
        Faults on demand, to test how a receiver or a stream client handles them. Available on development servers only.
      </PageHeader>
      <TroubleList />
      <TroubleForm />
      <DisconnectForm />
    </>
  )
}
