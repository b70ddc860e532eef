/** Scripts that have a shell complete the command's words. Each holds all of them, so that no key press starts Node. */

/** A command, as it is completed. */
export interface CompletedCommand {
  /** The words that lead to it, with spaces between them; empty for `sluice` itself. */
  readonly path: string
  readonly commands: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly {
    /** With its dashes. */
    readonly name: string
    readonly description: string
    readonly takesValue: boolean
    /** The values that it takes, when these are few. */
    readonly choices: readonly string[]
  }[]
  /** The values that its arguments take, when these are few. */
  readonly choices: readonly string[]
}

type Script = (commands: readonly CompletedCommand[]) => string

/** By the name of the shell. */
export const completionScripts = { bash: bashScript, zsh: zshScript, fish: fishScript } satisfies Record<string, Script>

/** Text in single quotes, for any of the three shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** For fish, in which a backslash counts within single quotes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`
}

/**
 * Shared by bash and zsh: `at` becomes the command that the words lead to, and `expecting` the option whose value
 * comes next. The value of an option is not a command, even with a command's name.
 */
function walk(commands: readonly CompletedCommand[], words: string): string {
  const steps = commands.flatMap(({ path, commands: below }) =>
    below.filter(({ name }) => name !== "help").map(({ name }) => quoted(`${path} ${name}`.trim())),
  )
  const expecting = commands.flatMap(({ path, options }) => {
    const names = options.filter(({ takesValue }) => takesValue).map(({ name }) => name)
    return names.length === 0
      ? []
      : [`      ${quoted(path)}) case $word in ${names.join("|")}) expecting=$word;; esac;;`]
  })
  return `  local word expecting='' at=''
  for word in ${words}; do
    if [[ -n $expecting ]]; then expecting=''; continue; fi
    case $word in -*)
      case $at in
${expecting.join("\n")}
      esac
      continue;;
    esac
    case "$at\${at:+ }$word" in
      ${steps.join("|")}) at="$at\${at:+ }$word";;
    esac
  done`
}

/** The values of an option, by command and option. */
function choicesCases(commands: readonly CompletedCommand[], then: (choices: readonly string[]) => string): string {
  return commands
    .flatMap(({ path, options }) =>
      options
        .filter(({ choices }) => choices.length > 0)
        .map(({ name, choices }) => `      ${quoted(`${path} ${name}`.trim())}) ${then(choices)};;`),
    )
    .join("\n")
}

function bashScript(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ path, commands: below, options, choices }) => {
    const words = [...below.map(({ name }) => name), ...choices].join(" ")
    return `    ${quoted(path)}) found=${quoted(words)} options=${quoted(options.map(({ name }) => name).join(" "))};;`
  })
  return `# Completion of sluice for bash. Made by: sluice completion bash
_sluice() {
  local current=\${COMP_WORDS[COMP_CWORD]} found='' options=''
${walk(commands, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  COMPREPLY=()
  if [[ -n $expecting ]]; then
    case "$at\${at:+ }$expecting" in
${choicesCases(commands, (choices) => `found=${quoted(choices.join(" "))}`)}
      *) ;;
    esac
    [[ -n $found ]] && COMPREPLY=($(compgen -W "$found" -- "$current"))
    return
  fi
  case $at in
${cases.join("\n")}
  esac
  # Without a word that fits, bash completes names of files.
  if [[ $current == -* ]]; then found=$options; fi
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o default -F _sluice sluice
`
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const described = (name: string, description: string): string =>
    quoted(`${name}:${description.replaceAll(":", "\\:")}`)
  const cases = commands.map(({ path, commands: below, options, choices }) => {
    const words = [...below.map(({ name, description }) => described(name, description)), ...choices.map(quoted)]
    const own = options.map(({ name, description }) => described(name, description))
    return `    ${quoted(path)}) found=(${words.join(" ")}) options=(${own.join(" ")});;`
  })
  return `#compdef sluice
# Completion of sluice for zsh. Made by: sluice completion zsh
_sluice() {
  local current=$words[CURRENT]
  local -a given=("\${(@)words[2,CURRENT-1]}") options
${walk(commands, '"${given[@]}"')}
  local -a found
  if [[ -n $expecting ]]; then
    case "$at\${at:+ }$expecting" in
${choicesCases(commands, (choices) => `found=(${choices.map(quoted).join(" ")})`)}
      *) ;;
    esac
    if (( $#found )); then compadd -- $found; else _files; fi
    return
  fi
  case $at in
${cases.join("\n")}
  esac
  if [[ $current == -* ]]; then
    _describe -o option options
  elif (( $#found )); then
    _describe command found
  else
    _files
  fi
}
if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
`
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => fishQuoted(path))
  const values = commands.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue))
  const names = [...new Set(values.map(({ name }) => name))]
  const lines = commands.flatMap(({ path, commands: below, options, choices }) => {
    const at = `complete -c sluice -n ${fishQuoted(`__sluice_at ${fishQuoted(path)}`)}`
    return [
      ...below.map(({ name, description }) => `${at} -f -a ${fishQuoted(name)} -d ${fishQuoted(description)}`),
      ...(choices.length > 0 ? [`${at} -f -a ${fishQuoted(choices.join(" "))}`] : []),
      ...options.map(({ name, description, takesValue, choices: own }) => {
        const value = takesValue ? (own.length > 0 ? ` -x -a ${fishQuoted(own.join(" "))}` : " -r") : ""
        return `${at} -l ${name.slice(2)}${value} -d ${fishQuoted(description)}`
      }),
    ]
  })
  return `# Completion of sluice for fish. Made by: sluice completion fish
function __sluice_at
  set -l path ''
  set -l expecting ''
  for word in (commandline -opc)[2..-1]
    if test -n "$expecting"
      set expecting ''
      continue
    end
    switch $word
      case ${names.join(" ")}
        set expecting $word
      case '-*'
      case '*'
        set -l next (string trim "$path $word")
        if contains -- $next ${paths.join(" ")}
          set path $next
        end
    end
  end
  test "$path" = "$argv[1]"
end
${lines.join("\n")}
`
}
