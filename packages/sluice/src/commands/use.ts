/** `sluice use`: chooses the current context, or lists all. */
import type { Command } from "commander"
import { mustReadContext } from "../connection/connection.ts"
import {
  checkedContextName,
  chooseContext,
  contextNames,
  currentContextName,
  readContext,
} from "../connection/context-files.ts"
import { WrongUsage } from "../process/failure.ts"
import { printList } from "../terminal/table.ts"
import { messageText, printResult, type CommandContext } from "../terminal/terminal.ts"

interface UseOptions {
  readonly none?: true
  readonly json?: true
}

/** The command's argument, options and action. */
export function useCommand(command: Command, { terminal, environment }: CommandContext): void {
  command
    .argument("[name]", "Name of the context to choose; without it, all are listed", checkedContextName)
    .option("--none", "Choose no context")
    .option("--json", "Print the result as JSON")
    .action(async (name: string | undefined, { none, json }: UseOptions) => {
      const { userDirectory } = environment
      if (none === true) {
        if (name !== undefined) throw new WrongUsage("Use either a name or --none, not both.")
        await chooseContext(userDirectory, undefined)
        return printResult(terminal, json, { current: null }, "No context is current.")
      }
      if (name !== undefined) {
        const { url } = await mustReadContext(environment, name)
        await chooseContext(userDirectory, name)
        return printResult(
          terminal,
          json,
          { current: name, url },
          `The current context is ${name}: ${messageText(url)}`,
        )
      }
      await printList(terminal, json, await listed(userDirectory), {
        none: "No contexts yet. Save one: sluice login NAME --url URL",
        columns: {
          " ": (one) => (one.is_current ? "*" : ""),
          NAME: (one) => one.name,
          TOKEN: (one) => one.kind,
          URL: (one) => one.url,
        },
      })
    })
}

/** All contexts without their tokens. */
async function listed(userDirectory: string) {
  const [names, current] = await Promise.all([contextNames(userDirectory), currentContextName(userDirectory)])
  const found = await Promise.all(names.map((name) => readContext(userDirectory, name)))
  return found
    .filter((one) => one !== undefined)
    .map(({ name, url, kind }) => ({ name, url, kind, is_current: name === current }))
}
