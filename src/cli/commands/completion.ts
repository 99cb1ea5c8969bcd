import { CliError, type Command, type Flag, type Run } from '../command.ts';
import { COMMANDS, GROUPS } from '../command-table/commands.ts';
import { CONNECTION_FLAGS, flagsOf } from '../command-table/flags.ts';
import { LOCAL_COMMANDS } from '../command-table/local-commands.ts';

const ALL: readonly Command[] = [...COMMANDS, ...LOCAL_COMMANDS];

/** Completes commands, flags and names of clusters. */
export const run: Run = async ({ out }, invocation) => {
  const shell = invocation.args[0] ?? '';
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (script === undefined) throw new CliError(`unsupported shell ${JSON.stringify(shell)}: bash, zsh or fish`);
  out.write(script());
  return undefined;
};

const longFlags = (command: Command): string[] =>
  flagsOf(command).flatMap(({ flags }) => flags.match(/--[a-z-]+/g)?.slice(0, 1) ?? []);

/** Every spelling of the flags that take a value: the word after such a flag is not a command. */
const withValue = (flags: readonly Flag[]): string[] =>
  flags.flatMap(({ flags: spelled }) => (spelled.includes('<') ? (spelled.match(/(?<=^|, )--?[a-z-]+/gi) ?? []) : []));

/** Flags whose value is a file in every command that has them. */
const fileFlags = (): string[] => {
  const all = [...CONNECTION_FLAGS, ...ALL.flatMap(({ flags = [] }) => flags)];
  const isFile = ({ flags }: Flag): boolean => flags.includes('<file>');
  const others = new Set(withValue(all.filter((flag) => !isFile(flag))));
  return [...new Set(withValue(all.filter(isFile)))].filter((name) => !others.has(name));
};

const takesClusters = ({ arguments: args = [] }: Command): boolean => args.some(({ isCluster }) => isCluster === true);

const takesShell = ({ path }: Command): boolean => path[0] === 'completion';

/** The command by its name and its aliases. */
const spellings = ({ path, aliases = [] }: Command): string[] =>
  [path.at(-1) ?? '', ...aliases].map((last) => [...path.slice(0, -1), last].join(' '));

/** Groups that are no command themselves. */
const pureGroups = (): string[] =>
  Object.keys(GROUPS).filter((group) => !ALL.some(({ path }) => path.join(' ') === group));

const topLevel = (): string[] => [...new Set([...ALL.map(({ path }) => path[0] ?? ''), 'serve', 'help'])];
const inGroup = (group: string): string[] =>
  ALL.filter(({ path }) => path.length > 1 && path[0] === group).map(({ path }) => path[1] ?? '');

/** `compgen -W` expands its words, commands included: only characters of valid names reach it. */
const CLUSTER_NAMES =
  "clusterpass get clusters -o jsonpath='{.items[*].metadata.name}' 2>/dev/null | tr -cd 'a-z0-9. -'";

const shellNames = (): string[] => Object.keys(SHELLS);

/** Splits the line itself: COMP_WORDS is split at `:` and `=`, too, and so inside of URLs. */
function bash(): string {
  const cases = ALL.map((command) => {
    const names = spellings(command).map((name) => `"${name}"`);
    const words = [...inGroup(command.path.join(' ')), ...(takesShell(command) ? shellNames() : [])];
    const candidates = [...words, ...longFlags(command)].join(' ');
    const valued = withValue(flagsOf(command)).join(' ');
    const settings = `candidates="${candidates}"; valued=" ${valued} "; complete=1`;
    return `    ${names.join('|')}) ${settings}${takesClusters(command) ? '; clusters=1' : ''} ;;`;
  });
  const groups = pureGroups().map((group) => `    "${group}") candidates="${inGroup(group).join(' ')}" ;;`);
  return `# bash completion for clusterpass: source <(clusterpass completion bash)
_clusterpass() {
  local current="\${COMP_WORDS[COMP_CWORD]}" line="\${COMP_LINE:0:$COMP_POINT}"
  local previous="" candidates="" valued="" clusters="" command="" word skip=1 complete=""
  case "$line" in *[[:space:]]) ;; *) line="\${line%"\${line##*[[:space:]]}"}" ;; esac
  for word in $line; do
    previous="$word"
    # The words of another program follow.
    if [[ "$word" == -- ]]; then COMPREPLY=(); return; fi
    if [[ -n "$skip" ]]; then skip=""; continue; fi
    if [[ -n "$complete" ]]; then continue; fi
    case "$word" in
      ${withValue(CONNECTION_FLAGS).join('|')}) skip=1; continue ;;
      -*) continue ;;
    esac
    command="\${command:+$command }$word"
    case " ${Object.keys(GROUPS).join(' ')} " in *" $command "*) ;; *) complete=1 ;; esac
  done
  if [[ -n "$skip" ]]; then COMPREPLY=(); return; fi
  case "$previous" in
    --cluster) COMPREPLY=($(compgen -W "$(${CLUSTER_NAMES})" -- "$current")); return ;;
    ${fileFlags().join('|')}) COMPREPLY=(); return ;;
  esac
  case "$command" in
    "") candidates="${topLevel().join(' ')}" ;;
${[...groups, ...cases].join('\n')}
  esac
  case "$valued" in *" $previous "*) COMPREPLY=(); return ;; esac
  if [[ -z "$complete" && "$current" == -* ]]; then
    candidates="${CONNECTION_FLAGS.flatMap(({ flags }) => flags.match(/--[a-z-]+/g) ?? []).join(' ')} --help"
  elif [[ -n "$clusters" && "$current" != -* ]]; then
    candidates="$(${CLUSTER_NAMES})"
  fi
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _clusterpass clusterpass
`;
}

/** zsh runs bash's completion functions. In zsh `words` is a special parameter, so the script has no such variable. */
const zsh = (): string => `#compdef clusterpass
autoload -U +X bashcompinit && bashcompinit
${bash()}`;

const quoted = (text: string): string => `'${text.replaceAll('`', '').replaceAll(/['\\]/g, '\\$&')}'`;

const FISH_CLUSTERS = `"(string split ' ' (${CLUSTER_NAMES}))"`;

/** Offers files only for flags whose value is a file. */
function fishValue(long: string, flags: string): string {
  if (long === 'cluster') return ` -x -a ${FISH_CLUSTERS}`;
  return flags.includes('<file>') ? ' -r -F' : ' -x';
}

/** fish's own test for a subcommand mistakes the value of a flag for one. */
const fishCommand = (): string => `function __clusterpass_command
    set -l words
    set -l skip
    set -l complete
    for word in (commandline -opc)[2..-1]
        # The words of another program follow.
        if test "$word" = --
            echo -- --
            return
        end
        if test -n "$complete"
            continue
        end
        if test -n "$skip"
            set skip
            continue
        end
        switch $word
            case ${withValue(CONNECTION_FLAGS).join(' ')}
                set skip 1
                continue
            case '-*'
                continue
        end
        set -a words $word
        contains -- "$words" ${Object.keys(GROUPS).join(' ')}; or set complete 1
    end
    echo "$words"
end
function __clusterpass_is
    contains -- (__clusterpass_command) $argv
end`;

const fishFlag = (here: string, { flags, doc }: Flag): string => {
  const long = /--([a-z-]+)/.exec(flags)?.[1] ?? '';
  const short = /^-([a-zA-Z]),/.exec(flags)?.[1];
  const value = flags.includes('<') ? fishValue(long, flags) : '';
  return `complete -c clusterpass -n ${quoted(here)} -l ${long}${short === undefined ? '' : ` -s ${short}`}${value} -d ${quoted(doc)}`;
};

const fishIs = (names: readonly string[]): string => `__clusterpass_is ${names.map((name) => `"${name}"`).join(' ')}`;

function fish(): string {
  const lines = [
    '# fish completion for clusterpass: clusterpass completion fish | source',
    fishCommand(),
    'complete -c clusterpass -f',
    `complete -c clusterpass -n ${quoted(fishIs(['--']))} -F`,
  ];
  const tops = new Map(
    ALL.map(({ path, summary }) => [path[0] ?? '', path.length > 1 ? (GROUPS[path[0] ?? ''] ?? '') : summary]),
  );
  // Not in the table of commands.
  tops.set('serve', 'Serve the API.').set('help', 'Show the help of a command.');
  for (const [name, summary] of tops) {
    lines.push(`complete -c clusterpass -n ${quoted(fishIs(['']))} -a ${name} -d ${quoted(summary)}`);
  }
  // Connection flags may precede the command.
  for (const flag of CONNECTION_FLAGS) lines.push(fishFlag(fishIs(['', ...pureGroups()]), flag));
  for (const command of ALL) {
    const [first = '', second] = command.path;
    const here = fishIs(spellings(command));
    if (second !== undefined) {
      lines.push(`complete -c clusterpass -n ${quoted(fishIs([first]))} -a ${second} -d ${quoted(command.summary)}`);
    }
    if (takesClusters(command)) lines.push(`complete -c clusterpass -n ${quoted(here)} -a ${FISH_CLUSTERS}`);
    if (takesShell(command)) lines.push(`complete -c clusterpass -n ${quoted(here)} -a '${shellNames().join(' ')}'`);
    for (const flag of flagsOf(command)) lines.push(fishFlag(here, flag));
  }
  return `${lines.join('\n')}\n`;
}

const SHELLS: Readonly<Record<string, () => string>> = { bash, zsh, fish };
