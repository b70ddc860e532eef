/** `sluice token`: tokens of operators and of programs that send posts. */
import { Option, type Command } from "commander"
import { withApps, withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { Failure } from "../process/failure.ts"
import { printList } from "../terminal/table.ts"
import { messageText, type CommandContext } from "../terminal/terminal.ts"

interface ListOptions extends StoreOptions {
  readonly json?: true
}

interface TokenOptions extends ListOptions {
  readonly kind: "operator" | "ingest"
}

/** The group's commands. */
export function tokenCommands(group: Command, { terminal, environment }: CommandContext): void {
  withStoreOptions(group.command("create"))
    .description("create a token and print it, this once")
    .addOption(
      new Option("--kind <kind>", "operator: run the server; ingest: send posts in")
        .choices(["operator", "ingest"])
        .makeOptionMandatory(),
    )
    .option("--json", "print the token as JSON")
    .action(({ kind, json, ...store }: TokenOptions) =>
      withApps(store, environment, true, async (apps) => {
        const token = await apps.createToken(kind)
        if (json === true) await terminal.printJson({ kind, token })
        else await terminal.print(token)
      }),
    )

  withStoreOptions(group.command("list"))
    .description("list the tokens, newest first, without the tokens themselves")
    .option("--json", "print the tokens as a JSON array")
    .action(({ json, ...store }: ListOptions) =>
      withApps(store, environment, false, async (apps) => {
        const found = (await apps.listTokens()).map(({ id, kind, appId, createdAtMs }) => ({
          id,
          kind,
          ...(appId !== undefined && { application_id: appId }),
          created_at: new Date(createdAtMs).toISOString(),
        }))
        await printList(terminal, found, {
          json: json === true,
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
    .description("end a token of an operator or of a program that sends posts, at once")
    .argument("<id>", "id of the token, as `sluice token list` shows it")
    .option("--json", "print the result as JSON")
    .action((id: string, { json, ...store }: ListOptions) =>
      withApps(store, environment, false, async (apps) => {
        const token = (await apps.listTokens()).find((one) => one.id === id)
        if (token === undefined) {
          throw new Failure(`There is no token ${id}.`, ["`sluice token list` shows those that there are."])
        }
        if (token.kind === "app") {
          throw new Failure(`Token ${id} is an app's.`, [
            `It ends with \`sluice app rotate ${token.appId ?? ""}\`, or with \`sluice app revoke\`.`,
          ])
        }
        await apps.revokeToken(id)
        if (json === true) return terminal.printJson({ id, revoked: true })
        await terminal.print(`Revoked token ${messageText(id)}.`)
      }),
    )
}
