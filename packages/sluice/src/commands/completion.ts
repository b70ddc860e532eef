/** `sluice completion`: prints completion scripts, generated from the commands. */
import { Argument, type Command } from "commander"
import { completionScripts, type CompletedCommand, type CompletedValues } from "../completion/completion-scripts.ts"
import { checkedContextName } from "../connection/context-files.ts"
import type { CommandContext } from "../terminal/terminal.ts"

const shells = Object.keys(completionScripts) as (keyof typeof completionScripts)[]

/** The command's argument and action. `wholeProgram` returns the program with all commands loaded. */
export function completionCommand(
  wholeProgram: (context: CommandContext) => Promise<Command>,
): (command: Command, context: CommandContext) => void {
  return (command, context) => {
    command
      .addArgument(new Argument("<shell>", "Shell of the script").choices(shells))
      .addHelpText(
        "after",
        [
          "",
          "To enable completion in new shells:",
          "  bash: echo 'source <(sluice completion bash)' >> ~/.bashrc",
          "  zsh:  sluice completion zsh > ~/.zfunc/_sluice   (with ~/.zfunc in fpath, before compinit)",
          "  fish: sluice completion fish > ~/.config/fish/completions/sluice.fish",
        ].join("\n"),
      )
      .action(async (shell: keyof typeof completionScripts) => {
        const commands = completed(await wholeProgram(context), "")
        await context.terminal.print(completionScripts[shell](commands).trimEnd())
      })
  }
}

/** A command and its subcommands, each with its path. */
function completed(command: Command, path: string): readonly CompletedCommand[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const own: CompletedCommand = {
    path,
    commands: commands.map((one) => ({ name: one.name(), description: one.description() })),
    options: help.visibleOptions(command).flatMap((option) => {
      const { long, description, required, optional } = option
      if (typeof long !== "string") return []
      return [{ name: long, description, values: required || optional ? valuesOf([option]) : undefined }]
    }),
    values: valuesOf(command.registeredArguments),
  }
  const below = commands.filter((one) => one.name() !== "help")
  return [own, ...below.flatMap((one) => completed(one, `${path} ${one.name()}`.trim()))]
}

/** The values of an option or of arguments. The parser of a context's name marks those that are contexts. */
function valuesOf(parsed: readonly Pick<Argument, "argChoices" | "parseArg">[]): CompletedValues {
  if (parsed.some(({ parseArg }) => parseArg === checkedContextName)) return { kind: "contexts" }
  const choices = parsed.flatMap(({ argChoices = [] }) => argChoices)
  return choices.length > 0 ? { kind: "choices", choices } : { kind: "files" }
}
