/** `sluice app`: apps and their credentials, on the store itself, with or without a running server. */
import type { AppCredentials, Apps } from "@sluice/server"
import { parseRequestBounds } from "@sluice/api/limits"
import { InvalidArgumentError, type Command } from "commander"
import { withApps, withStoreOptions, type StoreOptions } from "../own-server/own-server.ts"
import { Failure } from "../process/failure.ts"
import { printList } from "../terminal/table.ts"
import { nameOption, numberMatching } from "./option-values.ts"
import { messageText, printResult, type CommandContext } from "../terminal/terminal.ts"

interface AppOptions extends StoreOptions {
  readonly json?: true
}

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
    .argument("<name>", "Display name of the app", nameOption)
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

  limitOptions(
    command("limits")
      .description("Show or set what an app has in place of the server's limits")
      .argument("<id>", "Id of the app")
      .option("--reset", "Remove what was set before"),
  )
    .option("--json", "Print what is set as JSON")
    .action((id: string, options: LimitOptions) =>
      withApps(options, environment, false, async (apps) => {
        const appId = await existing(apps, id)
        const before = (await apps.list()).find((app) => app.id === appId)?.limits
        const limits = { ...(options.reset === true ? {} : before), ...limitsOf(options) }
        if (options.reset === true || Object.keys(limitsOf(options)).length > 0) {
          if (!(await apps.setLimits(appId, limits))) throw new Failure(`App ${id} is revoked and has no limits.`)
        }
        if (options.json === true) return terminal.printJson(limits)
        const lines = Object.entries(limits).map(([name, value]) => `${name}  ${JSON.stringify(value)}`)
        if (lines.length === 0) terminal.note("Nothing is set for the app: it has the server's limits.")
        for (const line of lines) await terminal.print(line)
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
type OwnLimits = Parameters<Apps["setLimits"]>[1]

interface LimitOptions extends AppOptions {
  readonly requests?: OwnLimits["requests"]
  readonly rules?: number
  readonly ruleCharacters?: number
  readonly connections?: number
  readonly postsPerSecond?: number
  readonly postsPerMonth?: number
  /** Absent unless one of `--credits` and `--no-credits` is given. */
  readonly credits?: boolean
  /** Absent unless one of `--compliance-streams` and `--no-compliance-streams` is given. */
  readonly complianceStreams?: boolean
  readonly reset?: true
}

function limitOptions(command: Command): Command {
  return command
    .option("--requests <bounds>", 'Most requests in a window, such as "GET /2/tweets app 100"; 0: no bound', requests)
    .option("--rules <count>", "Most rules", figure(1))
    .option("--rule-characters <count>", "Most characters of a rule", figure(1))
    .option("--connections <count>", "Most stream connections", figure(1))
    .option("--posts-per-second <count>", "Most posts a second on a stream connection; 0: no bound", figure(0))
    .option("--posts-per-month <count>", "Most posts in a month, as usage counts them; 0: no bound", figure(0))
    .option("--credits", "The app has credit again")
    .option("--no-credits", "The app has no credit: its requests get 402")
    .option("--compliance-streams", "The app may read the compliance streams, which say what is deleted")
    .option("--no-compliance-streams", "The app may not read the compliance streams")
}

/** The limits that options name. */
function limitsOf(options: LimitOptions): OwnLimits {
  const {
    requests: bounds,
    rules,
    ruleCharacters,
    connections,
    postsPerSecond,
    postsPerMonth,
    credits,
    complianceStreams,
  } = options
  return {
    ...(bounds !== undefined && { requests: bounds }),
    ...(rules !== undefined && { rules }),
    ...(ruleCharacters !== undefined && { rule_characters: ruleCharacters }),
    ...(connections !== undefined && { connections }),
    ...(postsPerSecond !== undefined && { posts_per_second: postsPerSecond }),
    ...(postsPerMonth !== undefined && { posts_per_month: postsPerMonth }),
    ...(credits !== undefined && { has_credits: credits }),
    ...(complianceStreams !== undefined && { compliance_streams: complianceStreams }),
  }
}

/** A figure of a limit: a whole number from `min` to a milliard. */
function figure(min: 0 | 1): (text: string) => number {
  return numberMatching(
    min === 0 ? /^(0|[1-9]\d{0,8})$/ : /^[1-9]\d{0,8}$/,
    `a whole number from ${String(min)} to 999999999`,
  )
}

function requests(text: string): OwnLimits["requests"] {
  try {
    return parseRequestBounds(text)
  } catch (error) {
    throw new InvalidArgumentError(`It ${(error as Error).message}`)
  }
}

async function existing(apps: Apps, id: string): Promise<AppId> {
  const found = (await apps.list()).find((app) => app.id === id)
  if (found === undefined) throw noSuchApp(id)
  return found.id
}

function noSuchApp(id: string): Failure {
  return new Failure(`There is no app ${id}.`, ["`sluice app list` shows all apps."])
}
