import type { ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"
import { DisconnectForm } from "./disconnect-form.tsx"
import { TroubleForm } from "./trouble-form.tsx"
import { TroubleList } from "./trouble-list.tsx"

/** Faults on demand, to see how a receiver takes them. */
export default function TroublePage(): ReactNode {
  return (
    <>
      <PageHeader title="Trouble">
        Faults on demand, to see how a receiver or a stream client takes them. Only a server for development has them.
      </PageHeader>
      <TroubleList />
      <TroubleForm />
      <DisconnectForm />
    </>
  )
}
