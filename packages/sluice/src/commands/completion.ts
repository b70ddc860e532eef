/** `sluice completion`: a script with which a shell completes commands and options, made from the commands themselves. */
import { Argument, type Command } from "commander"
import { completionScripts, type CompletedCommand } from "../completion/completion-scripts.ts"
import type { CommandContext } from "../terminal/terminal.ts"

const shells = Object.keys(completionScripts) as (keyof typeof completionScripts)[]

/** The command's argument and action. `wholeProgram` makes the program with all its commands loaded. */
export function completionCommand(
  wholeProgram: (context: CommandContext) => Promise<Command>,
): (command: Command, context: CommandContext) => void {
  return (command, context) => {
    command
      .addArgument(new Argument("<shell>", "the shell that reads the script").choices(shells))
      .addHelpText(
        "after",
        [
          "",
          "To complete in every new shell:",
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

/** A command and all below it, by the words that lead to it. */
function completed(command: Command, path: string): readonly CompletedCommand[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const own: CompletedCommand = {
    path,
    commands: commands.map((one) => ({ name: one.name(), description: one.description() })),
    options: help
      .visibleOptions(command)
      .flatMap(({ long, description, required, optional, argChoices = [] }) =>
        typeof long === "string"
          ? [{ name: long, description, takesValue: required || optional, choices: argChoices }]
          : [],
      ),
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  }
  const below = commands.filter((one) => one.name() !== "help")
  return [own, ...below.flatMap((one) => completed(one, `${path} ${one.name()}`.trim()))]
}
