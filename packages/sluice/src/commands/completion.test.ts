import { execFile, spawnSync } from "node:child_process"
import { mkdir, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../command.testing.ts"

const has = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).error === undefined

/** Texts that a shell would run or expand, and others that are no names of contexts. */
const hostileNames = [
  "$(touch made)",
  "`touch made`",
  ";touch made;",
  "a;touch made",
  "${x:=$(touch made)}",
  "'$(touch made)'",
  "a(touch made)",
  "*",
  "?",
  "~",
  "two words",
  "a:b",
  "-x",
  ".hidden",
  "last\nline",
  "a\u001b[31m",
  "x".repeat(65),
]

/** Files in the directory of a user's contexts. */
const contextFiles = [
  "work.json",
  "ops-2.json",
  ...hostileNames.map((name) => `${name}.json`),
  "work.json\n",
  "text.txt",
]

/** The lines that a shell prints: it reads its script, as `$1`, and then runs `then` in a directory with a file named files. */
async function inShell(
  shell: string,
  options: readonly string[],
  then: string,
  configHome: "default" | "variable" | "none" = "default",
): Promise<readonly string[]> {
  await using directory = await temporaryDirectory()
  const script = join(directory.path, "completion")
  const { status, stdout } = await run(["completion", shell])
  expect(status).toBe(0)
  await writeFile(script, stdout)
  // The specification has programs ignore a relative path.
  const relative = configHome === "variable" ? "" : "export XDG_CONFIG_HOME='home dir'\n"
  await writeFile(`${script}.then`, relative + then.replaceAll("$1", script))
  const [home, cwd] = [join(directory.path, "home dir"), join(directory.path, "cwd")]
  const config = join(home, configHome === "variable" ? "other" : ".config")
  for (const one of [home, cwd]) await mkdir(one)
  if (configHome !== "none") {
    await mkdir(join(config, "sluice", "contexts"), { recursive: true })
    for (const file of contextFiles) await writeFile(join(config, "sluice", "contexts", file), "")
  }
  await writeFile(join(cwd, "files"), "")
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: config }
  const outcome = await promisify(execFile)(shell, [...options, `${script}.then`], { cwd, env })
  expect(outcome.stderr).toBe("")
  expect(await readdir(cwd)).toEqual(["files"])
  return outcome.stdout.trimEnd().split("\n")
}

/** Cases for every shell: the words of the line, the last of which is being completed, and its completions. */
const cases: readonly (readonly [line: readonly string[], completions: string])[] = [
  [["rul"], "rules"],
  [["rules", "te"], "test"],
  [["rules", "test", "--mod"], "--mode"],
  [["rules", "test", "--mode", ""], "search stream"],
  [["rules", "test", "--mode", "stream", "--fi"], "--file"],
  // The value of an option is not a command, even with a command's name.
  [["rules", "add", "--tag", "test", "--ta"], "--tag"],
  [["completion", ""], "bash fish zsh"],
  [["import", "--from-line", ""], "files"],
  [["use", ""], "ops-2 work"],
  [["logout", "w"], "work"],
  [["rules", "list", "--context", "o"], "ops-2"],
  [["tail", "--context", ""], "ops-2 work"],
]
const lines = cases.map(([line]) => line)
const completions = cases.map(([, found]) => found)

/** In bash and zsh: a call of `ask` for each of the lines. */
const asked = (of: readonly (readonly string[])[]): string =>
  of.map((words) => `ask ${words.map((word) => `'${word}'`).join(" ")}`).join("\n")

// `compopt`, which only works while a line is completed, prevents the names of files.
const bashAsk = `compopt() { otherwise=; }
    ask() { COMP_WORDS=(sluice "$@"); COMP_CWORD=$#; otherwise=files; _sluice; echo "\${COMPREPLY[*]:-$otherwise}"; }`

test("bash completes commands, options, the values of an option and contexts", async () => {
  const printed = await inShell(
    "bash",
    ["--norc"],
    `source $1
    ${bashAsk}
    complete -p sluice
    ${asked(lines)}
    ask ''`,
  )
  expect(printed.slice(1, -1).map(sorted)).toEqual(completions)
  expect(printed[0]).toBe("complete -o default -F _sluice sluice")
  expect(printed.at(-1)?.split(" ")).toEqual(expect.arrayContaining(["dev", "serve", "links", "dead-letters", "help"]))
})

const zshAsk = `autoload -U compinit; compinit -u -D; source $1
    # The parts of zsh that take what is found, and fit it to what was typed.
    _describe() { local all=("\${(P@)@[-1]}"); print -r -- \${(M)\${all%%:*}:#$words[CURRENT]*} }
    compadd() { shift; print -r -- \${(M)@:#$words[CURRENT]*} }
    _files() { print files }
    ask() { words=(sluice "$@"); CURRENT=$#words; _sluice }`

test.runIf(has("zsh"))("zsh completes the same, with a description of each", async () => {
  const printed = await inShell(
    "zsh",
    ["-f"],
    `${zshAsk}
    print -r -- $_comps[sluice]
    ${asked(lines)}
    _describe() { print -r -- "\${(P@)@[-1]}" }
    ask ''`,
  )
  expect(printed.slice(1, -1).map(sorted)).toEqual(completions)
  expect(printed[0]).toBe("_sluice")
  expect(printed.at(-1)).toContain("tail:Print matches as they arrive")
})

const fishAsk = (of: readonly (readonly string[])[]): string =>
  of.map((words) => `echo (complete -C 'sluice ${words.join(" ")}' | string replace -r '\\t.*' '')`).join("\n")

test.runIf(has("fish"))("fish completes the same, with a description of each", async () => {
  const ask = fishAsk(lines)
  const printed = await inShell("fish", ["--no-config"], `source $1\n${ask}\ncomplete -C 'sluice ta'`)
  expect(printed.slice(0, -1).map(sorted)).toEqual(completions)
  expect(printed.at(-1)).toMatch(/^tail\tPrint matches as they arrive/)
})

const contextLines = [
  ["use", ""],
  ["rules", "list", "--context", ""],
]

const shells = [
  ["bash", ["--norc"], `source $1\n${bashAsk}\n${asked(contextLines)}`],
  ["bash", ["--norc"], `source $1\n${bashAsk}\nshopt -s failglob dotglob nocasematch; set -fu\n${asked(contextLines)}`],
  ["zsh", ["-f"], `${zshAsk}\nsetopt shwordsplit globsubst kshglob dotglob\n${asked(contextLines)}`],
  ["fish", ["--no-config"], `source $1\n${fishAsk(contextLines)}`],
] as const

test.for(shells.filter(([shell]) => has(shell)))(
  "contexts are those of XDG_CONFIG_HOME, and no files stand in for them: %s",
  async ([shell, options, then]) => {
    const found = await inShell(shell, options, then, "variable")
    expect(found.map(sorted)).toEqual(["ops-2 work", "ops-2 work"])
    expect((await inShell(shell, options, then, "none")).join("").trim()).toBe("")
  },
)

test("another shell is refused with the supported ones", async () => {
  const { status, stderr } = await run(["completion", "tcsh"])
  expect([status, stderr]).toEqual([2, expect.stringContaining("Allowed choices are bash, zsh, fish.")])
})

function sorted(line: string): string {
  return line.split(" ").toSorted().join(" ")
}
