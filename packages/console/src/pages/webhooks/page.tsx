import type { ReactNode } from "react"
import { Route, Switch } from "wouter"
import { WebhookDetail } from "./webhook-detail.tsx"
import { WebhookList } from "./webhook-list.tsx"

/** Where matches are sent, and how that goes: the list, and below it a page for each webhook. */
export default function WebhooksPage(): ReactNode {
  return (
    <Switch>
      <Route path="/:id/:view?">{({ id, view }) => <WebhookDetail key={id} id={id} view={view} />}</Route>
      <Route>
        <WebhookList />
      </Route>
    </Switch>
  )
}
