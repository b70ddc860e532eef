/** The text field of a rule or of a query: CodeMirror with the rule language. */
import { autocompletion, closeBrackets, closeCompletion, completionKeymap } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { linter, type Diagnostic } from "@codemirror/lint"
import { EditorState, type Extension } from "@codemirror/state"
import { Decoration, EditorView, keymap, placeholder, ViewPlugin, type DecorationSet } from "@codemirror/view"
import { parseRule, tokensOf, type Mode } from "@sluice/rules"
import { useEffect, useRef, type ReactNode } from "react"
import { styleNonce } from "../style-nonce.ts"
import { completeIn } from "./rule-completions.ts"
import styles from "./rule-editor.module.css"
import { ruleOptions } from "./rule-options.ts"

/** Time from the last key until errors show, in ms, so that a half-typed word shows none. */
const lintMs = 250

/** An editor of one rule or query. A new `value`, such as an accepted suggestion, replaces the text. */
export function RuleEditor({
  value,
  onChange,
  onEnter,
  label,
  describedBy,
  mode,
}: {
  readonly value: string
  readonly onChange: (value: string) => void
  /** Called by Enter, which then begins no new line: Shift+Enter does. Absent: Enter begins one. */
  readonly onEnter?: () => void
  readonly label: string
  /** Id of the element with the problems. */
  readonly describedBy: string
  /** The operators that it completes, and the problems that it underlines. */
  readonly mode: Mode
}): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const latest = useRef({ value, onChange, onEnter })
  latest.current = { value, onChange, onEnter }
  const hasEnter = onEnter !== undefined
  useEffect(() => {
    if (place.current === null) return
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          ...(hasEnter ? [keymap.of([enterKey(() => latest.current.onEnter?.())])] : []),
          ...extensionsOf(mode),
          // Enter belongs to the page: it must not accept a suggestion that the viewer has not chosen.
          autocompletion({ override: [completeIn(mode)], icons: false, selectOnOpen: !hasEnter }),
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
  }, [label, describedBy, mode, hasEnter])
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

/** Underlines the problems of the text. One at the end of the text is shown under the last character. */
function diagnosticsIn(mode: Mode) {
  return (view: EditorView): readonly Diagnostic[] => {
    const text = view.state.doc.toString()
    const parsed = text.trim() === "" ? undefined : parseRule(text, ruleOptions[mode])
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
}

/** Enter as a key that runs something. A chosen suggestion comes first: its key has a higher precedence. */
function enterKey(run: () => void) {
  return {
    key: "Enter",
    run(editor: EditorView): boolean {
      closeCompletion(editor)
      run()
      return true
    },
  }
}

function extensionsOf(mode: Mode): readonly Extension[] {
  return [
    EditorView.cspNonce.of(styleNonce()),
    history(),
    keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
    EditorView.lineWrapping,
    closeBrackets(),
    highlighted,
    placeholder('(heron OR "night market") has:images -is:retweet'),
    linter(diagnosticsIn(mode), { delay: lintMs }),
  ]
}
