/** `sluice app`: apps and their credentials, on the store itself, with or without a running server. */
import type { AppCredentials, Apps } from "@sluice/server"
import { InvalidArgumentError, type Command } from "commander"
import { withApps, withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { Failure } from "../process/failure.ts"
import { printList } from "../terminal/table.ts"
import { messageText, printResult, type CommandContext } from "../terminal/terminal.ts"

interface AppOptions extends StoreOptions {
  readonly json?: true
}

/** Longest name of an app. Ours. */
const nameCharactersMax = 100

/** The group's commands. */
export function appCommands(group: Command, { terminal, environment }: CommandContext): void {
  const command = (name: string): Command => withStoreOptions(group.command(name))

  const printCredentials = async (credentials: AppCredentials, options: AppOptions): Promise<void> => {
    if (options.json === true) return terminal.printJson(credentials)
    for (const [name, value] of Object.entries(credentials)) {
      await terminal.print(`${name.padEnd(16)}  ${messageText(String(value))}`)
    }
  }

  command("create")
    .description("Create an app and print its credentials")
    .argument("<name>", "Display name of the app", appName)
    .option("--json", "Print the credentials as JSON")
    .action((name: string, options: AppOptions) =>
      withApps(options, environment, true, async (apps) => {
        await printCredentials(await apps.create(name), options)
      }),
    )

  command("list")
    .description("List the apps, newest first, without secrets")
    .option("--json", "Print the apps as a JSON array")
    .action((options: AppOptions) =>
      withApps(options, environment, false, async (apps) => {
        const found = (await apps.list()).map(({ id, name, consumerKey, createdAtMs, revoked }) => ({
          application_id: id,
          name,
          consumer_key: consumerKey,
          created_at: new Date(createdAtMs).toISOString(),
          revoked,
        }))
        await printList(terminal, options.json, found, {
          none: "No apps yet. Create one: sluice app create NAME",
          columns: {
            ID: (one) => one.application_id,
            "CREATED (UTC)": (one) => one.created_at.slice(0, 19),
            STATE: (one) => (one.revoked ? "revoked" : "active"),
            NAME: (one) => one.name,
          },
        })
      }),
    )

  command("rotate")
    .description("Replace the credentials of an app; the old ones stop working immediately")
    .argument("<id>", "Id of the app")
    .option("--json", "Print the credentials as JSON")
    .action((id: string, options: AppOptions) =>
      withApps(options, environment, false, async (apps) => {
        const credentials = await apps.rotate(await existing(apps, id))
        if (credentials === undefined) throw new Failure(`App ${id} is revoked and has no credentials.`)
        await printCredentials(credentials, options)
      }),
    )

  command("revoke")
    .description("Revoke an app: its token stops working and its links stop")
    .argument("<id>", "Id of the app")
    .option("--json", "Print the result as JSON")
    .action((id: string, options: AppOptions) =>
      withApps(options, environment, false, async (apps) => {
        const isRevoked = await apps.revoke(await existing(apps, id))
        if (!isRevoked) throw noSuchApp(id)
        await printResult(
          terminal,
          options.json,
          { application_id: id, revoked: true },
          `Revoked app ${messageText(id)}.`,
        )
      }),
    )
}

type AppId = Parameters<Apps["rotate"]>[0]

async function existing(apps: Apps, id: string): Promise<AppId> {
  const found = (await apps.list()).find((app) => app.id === id)
  if (found === undefined) throw noSuchApp(id)
  return found.id
}

function noSuchApp(id: string): Failure {
  return new Failure(`There is no app ${id}.`, ["`sluice app list` shows all apps."])
}

function appName(text: string): string {
  const name = text.trim()
  if (name !== "" && Array.from(name).length <= nameCharactersMax) return name
  throw new InvalidArgumentError(`A name must have 1 to ${String(nameCharactersMax)} characters.`)
}
