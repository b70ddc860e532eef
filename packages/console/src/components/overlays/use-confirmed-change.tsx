import type { Operations, OptionsOf, ResponseOf } from "@sluice/client"
import { useState, type ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { Confirm } from "./dialog.tsx"
import { useToast } from "./toast.tsx"

/** A change that is made only after the viewer confirms it. */
export interface ConfirmedChange<Subject> {
  /** Opens the dialog for one subject. */
  readonly ask: (subject: Subject) => void
  /** The dialog, to be rendered anywhere in the component; nothing while it is closed. */
  readonly dialog: ReactNode
}

/** Asks with a dialog, sends the change, then closes the dialog, shows a toast and calls `onDone`. Errors show in the dialog. */
export function useConfirmedChange<
  Subject,
  Name extends keyof Operations,
  Method extends keyof Operations[Name] & string,
>(
  method: Method,
  name: Name,
  {
    invalidates,
    title,
    text,
    action,
    request,
    doneText,
    onDone,
  }: {
    readonly invalidates: readonly (keyof Operations)[]
    /** A question that names the subject. */
    readonly title: (subject: Subject) => string
    /** The consequences. */
    readonly text: (subject: Subject) => ReactNode
    /** One verb, for the button. */
    readonly action: string
    readonly request: (subject: Subject) => NonNullable<OptionsOf<Name, Method>[0]>
    readonly doneText?: (subject: Subject) => string
    readonly onDone?: (subject: Subject, response: ResponseOf<Name, Method>) => void
  },
): ConfirmedChange<Subject> {
  const [subject, setSubject] = useState<Subject>()
  const change = useApiChange(method, name, { invalidates })
  const toast = useToast()
  return {
    ask(next) {
      change.reset()
      setSubject(next)
    },
    dialog: subject !== undefined && (
      <Confirm
        onClose={() => setSubject(undefined)}
        title={title(subject)}
        action={action}
        isBusy={change.isPending}
        error={change.error}
        onConfirm={() =>
          change.mutate(request(subject), {
            onSuccess(response) {
              setSubject(undefined)
              if (doneText !== undefined) toast(doneText(subject))
              onDone?.(subject, response)
            },
          })
        }
      >
        {text(subject)}
      </Confirm>
    ),
  }
}
