import { CSPProvider } from "@base-ui/react/csp-provider"
import { QueryClientProvider } from "@tanstack/react-query"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { consolePath } from "@sluice/api/paths"
import { queryClient } from "./api/query-client.ts"
import { DraftRouter } from "./components/overlays/drafts.tsx"
import { Toasts } from "./components/overlays/toast.tsx"
import { App } from "./shell/app.tsx"
import { styleNonce } from "./components/style-nonce.ts"
import "./styles/base.css"

const root = document.getElementById("root")
if (root === null) throw new Error("The page has no element #root.")

createRoot(root).render(
  <StrictMode>
    <CSPProvider nonce={styleNonce()}>
      <QueryClientProvider client={queryClient}>
        <DraftRouter base={consolePath}>
          <Toasts>
            <App />
          </Toasts>
        </DraftRouter>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
