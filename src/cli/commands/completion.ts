import { isDns1123Subdomain } from '../../api/names.ts';
import { CliError, type Context, Invocation, type Run } from '../command.ts';
import { HELP_FLAG, specOf, valuesOf } from '../command-line.ts';
import { commandAt, findCommand } from '../command-table/commands.ts';
import { CONNECTION_FLAGS, flagsOf, ownFlags } from '../command-table/flags.ts';
import { connectAll } from '../connection/all-servers.ts';
import { firstWords, secondWords } from '../help.ts';

/** The scripts ask the program itself: `completion next LINE` prints what the last word of LINE can be. */
const bash = `_clusterpass() {
  local IFS=$'\\n'
  COMPREPLY=($(clusterpass completion next "\${COMP_LINE:0:$COMP_POINT}" 2>/dev/null))
}
complete -o default -F _clusterpass clusterpass
`;

const SHELLS: Readonly<Record<string, string>> = {
  bash: `# bash completion for clusterpass: source <(clusterpass completion bash)\n${bash}`,
  // zsh runs bash's completion functions.
  zsh: `#compdef clusterpass\nautoload -U +X bashcompinit && bashcompinit\n${bash}`,
  // Without a candidate, files.
  fish: `# fish completion for clusterpass: clusterpass completion fish | source
function __clusterpass
    set -g __clusterpass_next (clusterpass completion next (commandline -cp | string collect) 2>/dev/null)
    test (count $__clusterpass_next) -gt 0
end
complete -c clusterpass -n __clusterpass -f -a '$__clusterpass_next'
`,
};

/** Prints the script of a shell, or what the script offers. */
export const run: Run = async (context, { args: [what = '', line] }) => {
  if (what === 'next' && line !== undefined) {
    const [current = '', ...before] = line.split(/\s+/).reverse();
    const found = await candidates(context, before.reverse().slice(1), current.startsWith('-'));
    for (const word of found) if (word.startsWith(current)) context.out.write(`${word}\n`);
    return;
  }
  const script = Object.hasOwn(SHELLS, what) ? SHELLS[what] : undefined;
  if (script === undefined) throw new CliError(`unsupported shell ${JSON.stringify(what)}: bash, zsh or fish`);
  context.out.write(script);
};

async function candidates(context: Context, before: readonly string[], isFlag: boolean): Promise<readonly string[]> {
  // The words of another program follow.
  if (before.includes('--')) return [];
  const { words, rest } = findCommand(before);
  const command = commandAt(words);
  const flags = [...(command === undefined ? CONNECTION_FLAGS : flagsOf(command)), HELP_FLAG].map(specOf);
  const previous = rest.at(-1) ?? '';
  const valued = flags.find(({ takesValue, long, short }) => takesValue && (previous === long || previous === short));
  if (valued?.long === '--cluster') return clusters(context);
  if (valued !== undefined) return valuesOf(valued.flag) ?? [];
  if (isFlag) return flags.map(({ long }) => long);
  const below = wordsBelow(words);
  if (command === undefined) return below;
  if (command.arguments?.some(({ isCluster }) => isCluster === true)) return clusters(context);
  if (command.path[0] === 'completion') return Object.keys(SHELLS);
  return [...below, ...ownFlags(command).map((flag) => specOf(flag).long)];
}

const wordsBelow = ([group]: readonly string[]): readonly string[] =>
  (group === undefined ? firstWords() : secondWords(group)).map(([term]) => term.replace(/ .*/, ''));

/** Only valid names become words of a shell. A server that does not answer has none to offer. */
async function clusters(context: Context): Promise<readonly string[]> {
  const servers = await connectAll(context, new Invocation([], {}));
  const lists = await Promise.allSettled(servers.map(({ client }) => client.listClusters()));
  return lists
    .flatMap((list) => (list.status === 'fulfilled' ? list.value.items : []))
    .map(({ metadata }) => metadata.name)
    .filter((name) => isDns1123Subdomain(name).length === 0);
}
