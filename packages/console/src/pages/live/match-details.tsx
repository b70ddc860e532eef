import type { ReactNode } from "react"
import { pathOf, paths } from "@sluice/api/paths"
import { CodeBlock } from "../../components/code-block.tsx"
import { CopyButton } from "../../components/copy-button.tsx"
import { Dialog } from "../../components/overlays/dialog.tsx"
import { shellText } from "../../components/shell-text.ts"
import type { LiveMatch } from "./use-matches.ts"

/** One match as it was received, with commands that send its post again or show it. */
export function MatchDetails({
  match,
  onClose,
}: {
  readonly match: LiveMatch
  readonly onClose: () => void
}): ReactNode {
  const json = JSON.stringify(JSON.parse(match.text), undefined, 2)
  return (
    <Dialog
      onClose={onClose}
      title={`Match ${match.position}`}
      isWide
      actions={
        <>
          <CopyButton text={json} what="JSON" label="Copy JSON" />
          <CopyButton text={sendCommand(match)} what="curl: send" label="Copy curl: send" />
          <CopyButton text={showCommand(match)} what="curl: show" label="Copy curl: show" />
        </>
      }
    >
      <CodeBlock text={json} what="the match" maxHeight="min(60dvh, 560px)" />
    </Dialog>
  )
}

/** A command that sends the post again; needs an ingest token. */
function sendCommand({ envelope }: LiveMatch): string {
  return [
    `curl -sS ${shellText(location.origin + paths.posts)}`,
    `-H "Authorization: Bearer $TOKEN" -H "Content-Type: application/x-ndjson"`,
    `--data-binary ${shellText(JSON.stringify(envelope))}`,
  ].join(" \\\n  ")
}

function showCommand({ envelope }: LiveMatch): string {
  const path = pathOf(paths.post, { post_id: envelope.data.id })
  return `curl -sS ${shellText(location.origin + path)} -H "Authorization: Bearer $TOKEN"`
}
