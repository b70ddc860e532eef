import type { ReactNode } from "react"
import { Route, Switch } from "wouter"
import { WebhookView } from "./webhook-view.tsx"
import { WebhookList } from "./webhook-list.tsx"

/** Endpoints and their delivery status: the list, and a view of each webhook. */
export default function WebhooksPage(): ReactNode {
  return (
    <Switch>
      <Route path="/:id/:view?">{({ id, view }) => <WebhookView key={id} id={id} view={view} />}</Route>
      <Route>
        <WebhookList />
      </Route>
    </Switch>
  )
}
