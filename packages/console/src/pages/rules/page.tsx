import { lazy, Suspense, type ReactNode } from "react"
import { Route, Switch } from "wouter"
import { PageSkeleton } from "../../components/states.tsx"
import { RuleList } from "./rule-list.tsx"

// The editor is most of the page's code, and the list does not need it.
const NewRule = lazy(() => import("./editor/edit-rule.tsx").then(({ NewRule: component }) => ({ default: component })))
const EditRule = lazy(() =>
  import("./editor/edit-rule.tsx").then(({ EditRule: component }) => ({ default: component })),
)
const ImportRules = lazy(() => import("./files/import-rules.tsx"))

/** The rules of the app: the list, an editor, and an import. */
export default function RulesPage(): ReactNode {
  return (
    <Suspense fallback={<PageSkeleton />}>
      <Switch>
        <Route path="/new">
          <NewRule />
        </Route>
        <Route path="/import">
          <ImportRules />
        </Route>
        <Route path="/:id">{({ id }) => <EditRule key={id} id={id} />}</Route>
        <Route>
          <RuleList />
        </Route>
      </Switch>
    </Suspense>
  )
}
