import { CliError, type Command, type Run } from './command.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { flagsOf } from './program.ts';

/** A script that completes commands, flags and the names of clusters. */
export const run: Run = async ({ out }, invocation) => {
  const shell = invocation.args[0] ?? '';
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (script === undefined) throw new CliError(`unsupported shell ${JSON.stringify(shell)}: bash, zsh or fish`);
  out.write(script());
  return undefined;
};

const longFlags = (command: Command): string[] =>
  flagsOf(command).flatMap(({ flags }) => flags.match(/--[a-z-]+/g)?.slice(0, 1) ?? []);

/** Commands whose arguments are clusters. */
const takesClusters = ({ path }: Command): boolean => ['get clusters', 'describe cluster'].includes(path.join(' '));

const takesShell = ({ path }: Command): boolean => path[0] === 'completion';

const topLevel = (): string[] => [...new Set([...COMMANDS.map(({ path }) => path[0] ?? ''), 'serve', 'help'])];
const inGroup = (group: string): string[] =>
  COMMANDS.filter(({ path }) => path.length > 1 && path[0] === group).map(({ path }) => path[1] ?? '');

const CLUSTER_NAMES = "clusterpass get clusters -o jsonpath='{.items[*].metadata.name}' 2>/dev/null";

const shellNames = (): string[] => Object.keys(SHELLS);

function bash(): string {
  const cases = COMMANDS.map(
    (command) =>
      `    "${command.path.join(' ')}") candidates="${[...(takesShell(command) ? shellNames() : []), ...longFlags(command)].join(' ')}"${takesClusters(command) ? '; clusters=1' : ''} ;;`,
  );
  const groups = Object.keys(GROUPS).map((group) => `    "${group}") candidates="${inGroup(group).join(' ')}" ;;`);
  return `# bash completion for clusterpass: source <(clusterpass completion bash)
_clusterpass() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" candidates="" clusters="" command="" word
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    case "$word" in -*) break ;; esac
    command="\${command:+$command }$word"
    case " ${Object.keys(GROUPS).join(' ')} " in *" $command "*) ;; *) break ;; esac
  done
  if [[ "$previous" == "--cluster" ]]; then
    COMPREPLY=($(compgen -W "$(${CLUSTER_NAMES})" -- "$current"))
    return
  fi
  case "$command" in
    "") candidates="${topLevel().join(' ')}" ;;
${[...groups, ...cases].join('\n')}
  esac
  if [[ -n "$clusters" && "$current" != -* ]]; then
    candidates="$(${CLUSTER_NAMES})"
  fi
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _clusterpass clusterpass
`;
}

/** zsh runs the functions of bash; there, `words` is not a name for a variable of one's own. */
const zsh = (): string => `#compdef clusterpass
autoload -U +X bashcompinit && bashcompinit
${bash()}`;

const quoted = (text: string): string => `'${text.replaceAll('`', '').replaceAll(/['\\]/g, '\\$&')}'`;

const FISH_CLUSTERS = `"(string split ' ' (${CLUSTER_NAMES}))"`;

/** Files are offered only where a file is asked for. */
function fishValue(long: string, flags: string): string {
  if (long === 'cluster') return ` -x -a ${FISH_CLUSTERS}`;
  return flags.includes('<file>') ? ' -r -F' : ' -x';
}

function fish(): string {
  const lines = [
    '# fish completion for clusterpass: clusterpass completion fish | source',
    'complete -c clusterpass -f',
  ];
  const tops = new Map(
    COMMANDS.map(({ path, summary }) => [path[0] ?? '', path.length > 1 ? (GROUPS[path[0] ?? ''] ?? '') : summary]),
  );
  // These two are not in the table.
  tops.set('serve', 'Serve the API.').set('help', 'Show the help of a command.');
  for (const [name, summary] of tops) {
    lines.push(`complete -c clusterpass -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`);
  }
  for (const command of COMMANDS) {
    const [first = '', second] = command.path;
    let here = `__fish_seen_subcommand_from ${first}`;
    if (second !== undefined) {
      const others = inGroup(first).join(' ');
      lines.push(
        `complete -c clusterpass -n '${here}; and not __fish_seen_subcommand_from ${others}' -a ${second} -d ${quoted(command.summary)}`,
      );
      here += `; and __fish_seen_subcommand_from ${second}`;
    }
    if (takesClusters(command)) lines.push(`complete -c clusterpass -n '${here}' -a ${FISH_CLUSTERS}`);
    if (takesShell(command)) lines.push(`complete -c clusterpass -n '${here}' -a '${shellNames().join(' ')}'`);
    for (const { flags, doc } of flagsOf(command)) {
      const long = /--([a-z-]+)/.exec(flags)?.[1] ?? '';
      const short = /^-([a-zA-Z]),/.exec(flags)?.[1];
      const value = flags.includes('<') ? fishValue(long, flags) : '';
      lines.push(
        `complete -c clusterpass -n '${here}' -l ${long}${short === undefined ? '' : ` -s ${short}`}${value} -d ${quoted(doc)}`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

const SHELLS: Readonly<Record<string, () => string>> = { bash, zsh, fish };
