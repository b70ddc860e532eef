import type { Application, OwnLimits } from "@sluice/api"
import { limitedEndpoints, parseRequestBounds } from "@sluice/api/limits"
import { useState, type ReactNode } from "react"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { Checkbox } from "../../components/checkbox.tsx"
import { TextField } from "../../components/field.tsx"
import { Dialog, FormDialog } from "../../components/overlays/dialog.tsx"
import { Button } from "../../components/button.tsx"
import { ErrorState } from "../../components/states.tsx"
import { AppUsage } from "../../components/usage/app-usage.tsx"

/** Shows the usage and the limits of an app, and changes what is set for it. */
export function LimitsDialog({ app, onClose }: { readonly app: Application; readonly onClose: () => void }): ReactNode {
  const [isEditing, setEditing] = useState(false)
  const limits = useApi("appLimits", { parameters: { id: app.id } })
  if (isEditing && limits.data !== undefined) {
    return <EditLimits app={app} own={limits.data.data.own} onClose={() => setEditing(false)} />
  }
  return (
    <Dialog
      onClose={onClose}
      title={`Usage and limits of ${app.name}`}
      isWide
      actions={
        <>
          <Button onClick={() => setEditing(true)} disabled={limits.data === undefined}>
            Change limits
          </Button>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      {limits.isLoadingError && <ErrorState of={limits} />}
      <AppUsage appId={app.id} />
    </Dialog>
  )
}

const figures = [
  ["rules", "Rules"],
  ["rule_characters", "Characters of a rule"],
  ["connections", "Stream connections"],
  ["posts_per_second", "Posts a second on a connection (0: no bound)"],
  ["posts_per_month", "Posts a month (0: no bound)"],
] as const

type Figure = (typeof figures)[number][0]

function EditLimits({
  app,
  own,
  onClose,
}: {
  readonly app: Application
  readonly own: OwnLimits
  readonly onClose: () => void
}): ReactNode {
  const save = useApiChange("PUT", "appLimits", { invalidates: ["appLimits", "limits", "usage"] })
  const [texts, setTexts] = useState<Readonly<Partial<Record<Figure, string>>>>(() =>
    Object.fromEntries(figures.map(([name]) => [name, String(own[name] ?? "")])),
  )
  const [requests, setRequests] = useState(() => requestsText(own.requests))
  const [hasCredits, setHasCredits] = useState(own.has_credits ?? true)
  const [hasCompliance, setHasCompliance] = useState(own.compliance_streams ?? false)
  const bounds = boundsOf(requests)
  return (
    <FormDialog
      onClose={onClose}
      title={`Limits of ${app.name}`}
      description="An empty field is the server's limit."
      action="Save"
      change={save}
      isDisabled={bounds === undefined}
      onSubmit={() =>
        save.mutate(
          {
            parameters: { id: app.id },
            body: {
              ...figuresOf(texts),
              ...(requests.trim() !== "" && bounds !== undefined && { requests: bounds }),
              ...(!hasCredits && { has_credits: false }),
              ...(hasCompliance && { compliance_streams: true }),
            },
          },
          { onSuccess: onClose },
        )
      }
    >
      {figures.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          value={texts[name] ?? ""}
          inputMode="numeric"
          pattern="[0-9]{1,9}"
          title="A whole number"
          onChange={(text) => setTexts((before) => ({ ...before, [name]: text }))}
        />
      ))}
      <TextField
        label="Requests in a window"
        hint="Such as: GET /2/tweets app 100, GET /2/users/me user 10. 0 is no bound."
        {...(bounds === undefined && { error: "Name endpoints, each with app or user and a number." })}
        value={requests}
        onChange={setRequests}
      />
      <Checkbox isChecked={hasCredits} onChange={setHasCredits}>
        The app has credit
      </Checkbox>
      <Checkbox isChecked={hasCompliance} onChange={setHasCompliance}>
        The app may read which posts and users are deleted (compliance streams)
      </Checkbox>
    </FormDialog>
  )
}

function figuresOf(texts: Readonly<Partial<Record<Figure, string>>>): OwnLimits {
  const given = figures.flatMap(([name]) => {
    const text = texts[name]?.trim() ?? ""
    return text === "" ? [] : [[name, Number(text)] as const]
  })
  return Object.fromEntries(given)
}

/** The bounds as a setting has them. */
function requestsText(requests: OwnLimits["requests"] = {}): string {
  return limitedEndpoints
    .flatMap((endpoint) =>
      (["app", "user"] as const).flatMap((per) => {
        const figure = requests[endpoint]?.[per]
        return figure === undefined ? [] : [`${endpoint} ${per} ${figure}`]
      }),
    )
    .join(", ")
}

/** The bounds of a text; `undefined` when it is not valid. */
function boundsOf(text: string): ReturnType<typeof parseRequestBounds> | undefined {
  try {
    return text.trim() === "" ? {} : parseRequestBounds(text)
  } catch {
    return undefined
  }
}
