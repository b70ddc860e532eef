import { useState, type ReactNode } from "react"
import { PageHeader } from "../../components/page-header.tsx"
import { AppsPanel } from "./apps-panel.tsx"
import { SecretsDialog, type Secrets } from "./secrets-dialog.tsx"
import { TokensPanel } from "./tokens-panel.tsx"

/** Apps with their credentials, operator tokens and ingest tokens; for operators. */
export default function AppsPage(): ReactNode {
  const [secrets, setSecrets] = useState<Secrets>()
  return (
    <>
      <PageHeader title="Apps and tokens">
        Each app has its own rules, webhooks and links. Operators see all apps; ingest tokens can only send posts.
      </PageHeader>
      <AppsPanel onSecrets={setSecrets} />
      <TokensPanel onSecrets={setSecrets} />
      {secrets !== undefined && <SecretsDialog secrets={secrets} onClose={() => setSecrets(undefined)} />}
    </>
  )
}
