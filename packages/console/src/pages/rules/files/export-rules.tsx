import { Menu } from "@base-ui/react/menu"
import { useState, type ReactNode } from "react"
import { useSession } from "../../../api/session.ts"
import { Button } from "../../../components/button.tsx"
import { useToast } from "../../../components/overlays/toast.tsx"
import { errorTitle } from "../../../components/states.tsx"
import styles from "./export-rules.module.css"
import { fileFormats, ruleFileText, type FileFormat } from "./rule-file.ts"

const formatNames: Readonly<Record<FileFormat, string>> = {
  json: "JSON",
  yaml: "YAML",
  ndjson: "NDJSON, one rule a line",
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
      toast(`${rules.length.toLocaleString()} rules were exported.`)
    } catch (error) {
      toast(errorTitle(error))
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <Menu.Root>
      <Menu.Trigger render={<Button isBusy={isBusy} disabled={isDisabled} />}>Export</Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className={styles["positioner"]}>
          <Menu.Popup className={styles["menu"]}>
            {fileFormats.map((format) => (
              <Menu.Item key={format} className={styles["item"]} onClick={() => void save(format)}>
                {formatNames[format]}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
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
