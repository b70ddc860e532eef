/** The text field of a rule: CodeMirror with the rule language. */
import {
  autocompletion,
  closeBrackets,
  completionKeymap,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { linter, type Diagnostic } from "@codemirror/lint"
import { EditorState } from "@codemirror/state"
import { Decoration, EditorView, keymap, placeholder, ViewPlugin, type DecorationSet } from "@codemirror/view"
import { operatorGuides, parseRule, tokensOf } from "@sluice/rules"
import { useEffect, useRef, type ReactNode } from "react"
import { styleNonce } from "../../../components/style-nonce.ts"
import styles from "./rule-editor.module.css"

/** Time from the last key until errors show, in ms, so that a half-typed word shows none. */
const lintMs = 250

/** An editor of one rule. A new `value`, such as an accepted suggestion, replaces the text. */
export function RuleEditor({
  value,
  onChange,
  label,
  describedBy,
}: {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly label: string
  /** Id of the element with the problems. */
  readonly describedBy: string
}): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const latest = useRef({ value, onChange })
  latest.current = { value, onChange }
  useEffect(() => {
    if (place.current === null) return
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          ...extensions,
          EditorView.contentAttributes.of({
            "aria-label": label,
            "aria-describedby": describedBy,
            spellcheck: "false",
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString())
          }),
        ],
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [label, describedBy])
  useEffect(() => {
    const editor = view.current
    if (editor === undefined || editor.state.doc.toString() === value) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } })
  }, [value])
  return <div ref={place} className={styles["editor"]} />
}

const highlighted = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet
    constructor(view: EditorView) {
      this.decorations = decorationsOf(view.state)
    }
    update({ docChanged, state }: { readonly docChanged: boolean; readonly state: EditorState }): void {
      if (docChanged) this.decorations = decorationsOf(state)
    }
  },
  { decorations: (plugin) => plugin.decorations },
)

function decorationsOf(state: EditorState): DecorationSet {
  const tokens = tokensOf(state.doc.toString())
  return Decoration.set(
    tokens.map(({ kind, start, end }) => Decoration.mark({ class: `rule-${kind}` }).range(start, end)),
  )
}

/** Underlines the problems of the rule. One at the end of the text is shown under the last character. */
function diagnosticsOf(view: EditorView): readonly Diagnostic[] {
  const text = view.state.doc.toString()
  const parsed = text.trim() === "" ? undefined : parseRule(text, { embeddings: true })
  if (parsed === undefined || parsed.ok) return []
  return parsed.problems.map(({ position, part, message, suggestion }) => {
    const from = Math.min(position - 1, Math.max(0, text.length - 1))
    const to = Math.min(text.length, Math.max(from + 1, position - 1 + part.length))
    return {
      from,
      to,
      severity: "error",
      message,
      ...(suggestion !== undefined && {
        actions: [
          {
            name: `Use ${suggestion}`,
            apply: (editor: EditorView, start: number, end: number): void =>
              editor.dispatch({ changes: { from: start, to: end, insert: suggestion } }),
          },
        ],
      }),
    }
  })
}

const operatorCompletions: readonly Completion[] = operatorGuides.map(({ name, finds, example, isStandalone }) => ({
  label: `${name}:`,
  type: "property",
  detail: example.slice(name.length + 1),
  info: `Finds posts ${finds}.${isStandalone ? "" : " Needs another clause next to it."}`,
}))

function complete(context: CompletionContext): CompletionResult | null {
  const value = context.matchBefore(/(\w+):\w*/)
  if (value !== null) {
    const [name = "", written = ""] = value.text.split(":")
    const values = operatorGuides.find((guide) => guide.name === name)?.values ?? []
    if (values.length === 0) return null
    return {
      from: value.to - written.length,
      options: values.map((label) => ({ label, type: "enum" })),
      validFor: /^\w*$/,
    }
  }
  const word = context.matchBefore(/[a-z_]+/i)
  if (word === null && !context.explicit) return null
  return { from: word?.from ?? context.pos, options: operatorCompletions, validFor: /^\w*$/ }
}

const extensions = [
  EditorView.cspNonce.of(styleNonce()),
  history(),
  keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
  EditorView.lineWrapping,
  closeBrackets(),
  highlighted,
  placeholder('(heron OR "night market") has:images -is:retweet'),
  linter(diagnosticsOf, { delay: lintMs }),
  autocompletion({ override: [complete], icons: false }),
]
