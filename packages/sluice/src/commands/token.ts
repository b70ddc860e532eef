/** `sluice token`: manages operator tokens and ingest tokens. */
import { Option, type Command } from "commander"
import { withApps, withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { Failure } from "../process/failure.ts"
import { printList } from "../terminal/table.ts"
import { messageText, printResult, type CommandContext } from "../terminal/terminal.ts"

interface ListOptions extends StoreOptions {
  readonly json?: true
}

interface TokenOptions extends ListOptions {
  readonly kind: "operator" | "ingest"
}

/** The group's commands. */
export function tokenCommands(group: Command, { terminal, environment }: CommandContext): void {
  withStoreOptions(group.command("create"))
    .description("Create a token and print it; it is not shown again")
    .addOption(
      new Option("--kind <kind>", "Operator: manages the server; ingest: sends posts")
        .choices(["operator", "ingest"])
        .makeOptionMandatory(),
    )
    .option("--json", "Print the token as JSON")
    .action(({ kind, json, ...store }: TokenOptions) =>
      withApps(store, environment, true, async (apps) => {
        const token = await apps.createToken(kind)
        if (json === true) await terminal.printJson({ kind, token })
        else await terminal.print(token)
      }),
    )

  withStoreOptions(group.command("list"))
    .description("List the tokens, newest first, without their values")
    .option("--json", "Print the tokens as a JSON array")
    .action(({ json, ...store }: ListOptions) =>
      withApps(store, environment, false, async (apps) => {
        const found = (await apps.listTokens()).map(({ id, kind, appId, createdAtMs }) => ({
          id,
          kind,
          ...(appId !== undefined && { application_id: appId }),
          created_at: new Date(createdAtMs).toISOString(),
        }))
        await printList(terminal, json, found, {
          none: "No tokens yet. Create one: sluice token create --kind operator",
          columns: {
            ID: (one) => one.id,
            KIND: (one) => one.kind,
            APP: (one) => one.application_id ?? "",
            "CREATED (UTC)": (one) => one.created_at.slice(0, 19),
          },
        })
      }),
    )

  withStoreOptions(group.command("revoke"))
    .description("Revoke an operator token or an ingest token immediately")
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
