import { useState, type ReactNode } from "react"
import { useSession } from "../../../api/session.ts"
import { Button } from "../../../components/button.tsx"
import { nounText } from "../../../components/counts.ts"
import { Menu } from "../../../components/overlays/menu.tsx"
import { useToast } from "../../../components/overlays/toast.tsx"
import { errorTitle } from "../../../components/states.tsx"
import { fileFormats, ruleFileText, type FileFormat } from "./rule-file.ts"

const formatNames: Readonly<Record<FileFormat, string>> = {
  json: "JSON",
  yaml: "YAML",
  ndjson: "NDJSON, one rule per line",
  txt: "Text, without tags",
}

/** Saves all rules of the app as a file. */
export function ExportRules({ isDisabled }: { readonly isDisabled: boolean }): ReactNode {
  const { client } = useSession()
  const toast = useToast()
  const [isBusy, setIsBusy] = useState(false)
  const save = async (format: FileFormat): Promise<void> => {
    setIsBusy(true)
    try {
      const rules = []
      for await (const { data } of client.pages("ruleDetails", { query: { max_results: 1000 } })) rules.push(...data)
      download(`rules.${format}`, ruleFileText(format, rules))
      toast(`Exported ${nounText(rules.length, "rule")}.`)
    } catch (error) {
      toast(errorTitle(error))
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <Menu
      button={<Button isBusy={isBusy} disabled={isDisabled} />}
      items={fileFormats.map((format) => ({ text: formatNames[format], onChoose: () => void save(format) }))}
    >
      Export
    </Menu>
  )
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
