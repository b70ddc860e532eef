import { useState, type ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"
import { AppsPanel } from "./apps-panel.tsx"
import { SecretsDialog, type Secrets } from "./secrets-dialog.tsx"
import { TokensPanel } from "./tokens-panel.tsx"

/** Apps with their credentials, and tokens; for operators. */
export default function AppsPage(): ReactNode {
  const [secrets, setSecrets] = useState<Secrets>()
  return (
    <>
      <PageHeader title="Apps and tokens">
        Each app has its own rules, webhooks and links. Operators see all apps; ingest tokens can only send posts;
        tokens of users read posts and users for a user of an app.
      </PageHeader>
      <AppsPanel onSecrets={setSecrets} />
      <TokensPanel onSecrets={setSecrets} />
      {secrets !== undefined && <SecretsDialog secrets={secrets} onClose={() => setSecrets(undefined)} />}
    </>
  )
}
