import type { ReactNode } from "react"
import { Route, Switch } from "wouter"
import { SourceList } from "./source-list.tsx"
import { SourceView } from "./source-view.tsx"

/** The sources of posts: their list, and a view of each. */
export default function SourcesPage(): ReactNode {
  return (
    <Switch>
      <Route path="/:name">{({ name }) => <SourceView key={name} name={name} />}</Route>
      <Route>
        <SourceList />
      </Route>
    </Switch>
  )
}
