import { execFile, spawnSync } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../command.testing.ts"

const has = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).error === undefined

/** The lines that a shell prints: it reads its script, as `$1`, and then runs `then`. */
async function inShell(shell: string, options: readonly string[], then: string): Promise<readonly string[]> {
  await using directory = await temporaryDirectory()
  const script = join(directory.path, "completion")
  const { status, stdout } = await run(["completion", shell])
  expect(status).toBe(0)
  await writeFile(script, stdout)
  await writeFile(`${script}.then`, then.replaceAll("$1", script))
  const outcome = await promisify(execFile)(shell, [...options, `${script}.then`])
  expect(outcome.stderr).toBe("")
  return outcome.stdout.trimEnd().split("\n")
}

/** Cases for every shell: the words of the line, the last of which is being completed. */
const lines = [
  ["rul"],
  ["rules", "te"],
  ["rules", "test", "--mod"],
  ["rules", "test", "--mode", ""],
  ["rules", "test", "--mode", "stream", "--fi"],
  // The value of an option is not a command, even with a command's name.
  ["rules", "add", "--tag", "test", "--ta"],
  ["completion", ""],
  ["import", "--from-line", ""],
] as const

const completions = ["rules", "test", "--mode", "search stream", "--file", "--tag", "bash fish zsh", ""]

test("bash completes commands, options and the values of an option", async () => {
  const ask = lines.map((words) => `ask ${words.map((word) => `'${word}'`).join(" ")}`).join("\n")
  const printed = await inShell(
    "bash",
    ["--norc"],
    `source $1
    ask() { COMP_WORDS=(sluice "$@"); COMP_CWORD=$#; COMPREPLY=(); _sluice; echo "\${COMPREPLY[*]}"; }
    complete -p sluice
    ${ask}
    ask ''`,
  )
  expect(printed.slice(1, -1).map(sorted)).toEqual(completions)
  expect(printed[0]).toBe("complete -o default -F _sluice sluice")
  expect(printed.at(-1)?.split(" ")).toEqual(expect.arrayContaining(["dev", "serve", "links", "dead-letters", "help"]))
})

test.runIf(has("zsh"))("zsh completes the same, with a description of each", async () => {
  const ask = lines.map((words) => `ask ${words.map((word) => `'${word}'`).join(" ")}`).join("\n")
  const printed = await inShell(
    "zsh",
    ["-f"],
    `autoload -U compinit; compinit -u -D; source $1
    # The parts of zsh that take what is found, and fit it to what was typed.
    _describe() { local all=("\${(P@)@[-1]}"); print -r -- \${(M)\${all%%:*}:#$words[CURRENT]*} }
    compadd() { shift; print -r -- "$@" }
    _files() { print }
    ask() { words=(sluice "$@"); CURRENT=$#words; _sluice }
    print -r -- $_comps[sluice]
    ${ask}
    _describe() { print -r -- "\${(P@)@[-1]}" }
    ask ''`,
  )
  expect(printed.slice(1, -1).map(sorted)).toEqual(completions)
  expect(printed[0]).toBe("_sluice")
  expect(printed.at(-1)).toContain("tail:Print matches as they arrive")
})

test.runIf(has("fish"))("fish completes the same, with a description of each", async () => {
  const ask = lines.map((words) => `echo (complete -C 'sluice ${words.join(" ")}' | string replace -r '\\t.*' '')`)
  // For files, fish lists those of the directory, which is empty.
  const printed = await inShell(
    "fish",
    ["--no-config"],
    `source $1\ncd (mktemp -d)\n${ask.join("\n")}\ncomplete -C 'sluice ta'`,
  )
  expect(printed.slice(0, -1).map(sorted)).toEqual(completions)
  expect(printed.at(-1)).toMatch(/^tail\tPrint matches as they arrive/)
})

test("another shell is refused with the supported ones", async () => {
  const { status, stderr } = await run(["completion", "tcsh"])
  expect([status, stderr]).toEqual([2, expect.stringContaining("Allowed choices are bash, zsh, fish.")])
})

function sorted(line: string): string {
  return line.split(" ").toSorted().join(" ")
}
