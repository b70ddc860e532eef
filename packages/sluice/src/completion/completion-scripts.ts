/**
 * Scripts that have a shell complete the command's words. Each holds all of them, so that no key press starts Node. The
 * names of contexts are those of files: the script lists their directory and passes on valid names alone, because a shell
 * would expand others.
 */

/** Values that are completed: a few that are known, the names of the saved contexts, or the names of files. */
export type CompletedValues =
  | { readonly kind: "choices"; readonly choices: readonly string[] }
  | { readonly kind: "contexts" }
  | { readonly kind: "files" }

/** A command, as it is completed. */
export interface CompletedCommand {
  /** The words that lead to it, with spaces between them; empty for `sluice` itself. */
  readonly path: string
  readonly commands: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly {
    /** With its dashes. */
    readonly name: string
    readonly description: string
    /** `undefined` for an option without a value. */
    readonly values: CompletedValues | undefined
  }[]
  /** The values of its arguments. */
  readonly values: CompletedValues
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
    const names = options.filter(({ values }) => values !== undefined).map(({ name }) => name)
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

/**
 * Shared by bash and zsh: prints the names of the saved contexts, one a line. Its body is a subshell, whose options
 * `options` sets.
 */
function contextsFunction(options: string): string {
  return `_sluice_contexts() (
  ${options}
  LC_ALL=C config=$HOME/.config
  [[ \${XDG_CONFIG_HOME:-} == /* ]] && config=$XDG_CONFIG_HOME
  for file in "$config"/sluice/contexts/*.json; do
    name=\${file##*/} name=\${name%.json}
    [[ $name =~ ${contextName} ]] && printf '%s\\n' "$name"
  done
)`
}

/** Names of contexts. Source: `checkedContextName`. */
const contextName = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

/** The values of an option, by command and option. `then` is undefined for values that are names of files. */
function valueCases(
  commands: readonly CompletedCommand[],
  then: (values: CompletedValues) => string | undefined,
): string {
  return commands
    .flatMap(({ path, options }) =>
      options.flatMap(({ name, values }) => {
        const found = values === undefined ? undefined : then(values)
        return found === undefined ? [] : [`      ${quoted(`${path} ${name}`.trim())}) ${found};;`]
      }),
    )
    .join("\n")
}

function bashScript(commands: readonly CompletedCommand[]): string {
  const found = (words: readonly string[], values: CompletedValues): string => {
    if (values.kind === "contexts") return `found=${quoted(words.join(" "))}" $(_sluice_contexts)" closed=1`
    return `found=${quoted([...words, ...choicesOf(values)].join(" "))}`
  }
  const cases = commands.map(({ path, commands: below, options, values }) => {
    const names = below.map(({ name }) => name)
    const own = options.map(({ name }) => name)
    return `    ${quoted(path)}) ${found(names, values)} options=${quoted(own.join(" "))};;`
  })
  return `# Completion of sluice for bash. Made by: sluice completion bash
${contextsFunction("shopt -u failglob nocasematch; shopt -s nullglob; set +f; unset GLOBIGNORE")}
_sluice() {
  local current=\${COMP_WORDS[COMP_CWORD]} found='' options='' closed=''
${walk(commands, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  COMPREPLY=()
  if [[ -n $expecting ]]; then
    case "$at\${at:+ }$expecting" in
${valueCases(commands, (values) => (values.kind === "files" ? undefined : found([], values)))}
      *) ;;
    esac
  else
    case $at in
${cases.join("\n")}
    esac
    if [[ $current == -* ]]; then found=$options; fi
  fi
  # Without a word that fits, bash completes names of files, and compopt, from bash 4 on, prevents it.
  if [[ -n $closed ]]; then compopt +o default 2>/dev/null; fi
  if [[ -n $found ]]; then COMPREPLY=($(compgen -W "$found" -- "$current")); fi
}
complete -o default -F _sluice sluice
`
}

const choicesOf = (values: CompletedValues): readonly string[] => (values.kind === "choices" ? values.choices : [])

function zshScript(commands: readonly CompletedCommand[]): string {
  const described = (name: string, description: string): string =>
    quoted(`${name}:${description.replaceAll(":", "\\:")}`)
  const found = (words: readonly string[], values: CompletedValues): string => {
    if (values.kind === "contexts") return `found=(${words.join(" ")} \${(f)"$(_sluice_contexts)"}) closed=1`
    return `found=(${[...words, ...choicesOf(values).map(quoted)].join(" ")})`
  }
  const cases = commands.map(({ path, commands: below, options, values }) => {
    const words = below.map(({ name, description }) => described(name, description))
    const own = options.map(({ name, description }) => described(name, description))
    return `    ${quoted(path)}) ${found(words, values)} options=(${own.join(" ")});;`
  })
  return `#compdef sluice
# Completion of sluice for zsh. Made by: sluice completion zsh
${contextsFunction("emulate zsh -o nullglob")}
_sluice() {
  local current=$words[CURRENT] closed=''
  local -a given=("\${(@)words[2,CURRENT-1]}") options
${walk(commands, '"${given[@]}"')}
  local -a found
  if [[ -n $expecting ]]; then
    case "$at\${at:+ }$expecting" in
${valueCases(commands, (values) => (values.kind === "files" ? undefined : found([], values)))}
      *) ;;
    esac
    if (( $#found )); then compadd -- $found; elif [[ -z $closed ]]; then _files; fi
    return
  fi
  case $at in
${cases.join("\n")}
  esac
  if [[ $current == -* ]]; then
    _describe -o option options
  elif (( $#found )); then
    _describe command found
  elif [[ -z $closed ]]; then
    _files
  fi
}
if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
`
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => fishQuoted(path))
  const values = commands.flatMap(({ options }) => options.filter(({ values: own }) => own !== undefined))
  const names = [...new Set(values.map(({ name }) => name))]
  const words = (of: CompletedValues): string | undefined => {
    if (of.kind === "contexts") return fishQuoted("(__sluice_contexts)")
    return of.kind === "choices" ? fishQuoted(of.choices.join(" ")) : undefined
  }
  const lines = commands.flatMap(({ path, commands: below, options, values: ofArguments }) => {
    const argumentWords = words(ofArguments)
    const at = `complete -c sluice -n ${fishQuoted(`__sluice_at ${fishQuoted(path)}`)}`
    return [
      ...below.map(({ name, description }) => `${at} -f -a ${fishQuoted(name)} -d ${fishQuoted(description)}`),
      ...(argumentWords === undefined ? [] : [`${at} -f -a ${argumentWords}`]),
      ...options.map(({ name, description, values: own }) => {
        const ownWords = own && words(own)
        const value = ownWords === undefined ? (own === undefined ? "" : " -r") : ` -x -a ${ownWords}`
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
function __sluice_contexts
  set -l config $HOME/.config
  if string match -q '/*' -- "$XDG_CONFIG_HOME"
    set config $XDG_CONFIG_HOME
  end
  for file in $config/sluice/contexts/*.json
    # Without $, which also stands before a last line feed.
    string match -r '(?<=/)${contextName.slice(1, -1)}(?=\\.json\\z)' -- $file
  end
end
${lines.join("\n")}
`
}
