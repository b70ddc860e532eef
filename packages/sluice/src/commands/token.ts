/** `sluice token`: manages the tokens of operators, of programs that send posts and of users of apps. */
import type { Apps } from "@sluice/server"
import { Option, type Command } from "commander"
import { withApps, withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { Failure, WrongUsage } from "../process/failure.ts"
import { printList } from "../terminal/table.ts"
import { messageText, printResult, type CommandContext } from "../terminal/terminal.ts"
import { idOf, nameOption } from "./option-values.ts"

interface ListOptions extends StoreOptions {
  readonly json?: true
}

interface TokenOptions extends ListOptions {
  readonly kind: "operator" | "ingest" | "user"
  readonly app: string | undefined
  readonly user: string | undefined
  readonly name: string | undefined
}

type UserOptions = Pick<TokenOptions, "kind" | "app" | "user">

/** The group's commands. */
export function tokenCommands(group: Command, { terminal, environment }: CommandContext): void {
  withStoreOptions(group.command("create"))
    .description("Create a token and print it; it is not shown again")
    .addOption(
      new Option("--kind <kind>", "Operator: manages the server; ingest: sends posts; user: acts for a user of an app")
        .choices(["operator", "ingest", "user"])
        .makeOptionMandatory(),
    )
    .option("--app <id>", "Id of the app, for --kind user; `sluice app list` shows all", idOf("an app"))
    .option("--user <id>", "Id of the user, for --kind user", idOf("a user"))
    .option("--name <name>", "A name for it, which `sluice token list` shows", nameOption)
    .option("--json", "Print the token as JSON")
    .action(({ kind, app, user, name, json, ...store }: TokenOptions) => {
      const ofUser = userOf({ kind, app, user })
      return withApps(store, environment, true, async (apps) => {
        const token = await (kind === "user" ? createUserToken(apps, ofUser, name) : apps.createToken(kind, name))
        if (json === true) await terminal.printJson({ kind, token })
        else await terminal.print(token)
      })
    })

  withStoreOptions(group.command("list"))
    .description("List the tokens, newest first, without their values")
    .option("--json", "Print the tokens as a JSON array")
    .action(({ json, ...store }: ListOptions) =>
      withApps(store, environment, false, async (apps) => {
        const found = (await apps.listTokens()).map(({ id, kind, appId, userId, createdAtMs, name, lastUsedAtMs }) => ({
          id,
          kind,
          ...(name !== undefined && { name }),
          ...(appId !== undefined && { application_id: appId }),
          ...(userId !== undefined && { user_id: userId }),
          created_at: new Date(createdAtMs).toISOString(),
          ...(lastUsedAtMs !== undefined && { last_used_at: new Date(lastUsedAtMs).toISOString() }),
        }))
        await printList(terminal, json, found, {
          none: "No tokens yet. Create one: sluice token create --kind operator",
          columns: {
            ID: (one) => one.id,
            KIND: (one) => one.kind,
            NAME: (one) => one.name ?? "",
            APP: (one) => one.application_id ?? "",
            USER: (one) => one.user_id ?? "",
            "CREATED (UTC)": (one) => one.created_at.slice(0, 19),
            "LAST USED (UTC)": (one) => one.last_used_at?.slice(0, 19) ?? "",
          },
        })
      }),
    )

  withStoreOptions(group.command("revoke"))
    .description("Revoke a token of an operator, a program or a user immediately")
    .argument("<id>", "Id of the token, from `sluice token list`")
    .option("--json", "Print the result as JSON")
    .action((id: string, { json, ...store }: ListOptions) =>
      withApps(store, environment, false, async (apps) => {
        const token = (await apps.listTokens()).find((one) => one.id === id)
        if (token === undefined) {
          throw new Failure(`There is no token ${id}.`, ["`sluice token list` shows all tokens."])
        }
        if (token.kind === "app") {
          throw new Failure(`Token ${id} belongs to an app.`, [
            `To revoke it, run \`sluice app rotate ${token.appId ?? ""}\` or \`sluice app revoke\`.`,
          ])
        }
        await apps.revokeToken(id)
        await printResult(terminal, json, { id, revoked: true }, `Revoked token ${messageText(id)}.`)
      }),
    )
}

/** The app and the user that the options name: both for a token of a user, and for no other. */
function userOf({ kind, app, user }: UserOptions): { readonly app: string; readonly user: string } {
  if (kind !== "user" && (app !== undefined || user !== undefined)) {
    throw new WrongUsage("--app and --user are for --kind user.")
  }
  if (kind === "user" && (app === undefined || user === undefined)) {
    throw new WrongUsage("A token of a user needs --app and --user.", [
      "`sluice app list` shows the ids of apps; the user's id may be any, such as the app's business user.",
    ])
  }
  return { app: app ?? "", user: user ?? "" }
}

async function createUserToken(
  apps: Apps,
  { app, user }: ReturnType<typeof userOf>,
  name: string | undefined,
): Promise<string> {
  const token = await apps.createUserToken(app, user, name)
  if (token === undefined) throw new Failure(`There is no active app ${app}.`, ["`sluice app list` shows all apps."])
  return token
}
