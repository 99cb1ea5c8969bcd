import { describe, expect, it } from 'vitest';
import { UsageError } from './command.ts';
import { parseArguments } from './command-line.ts';
import { COMMANDS } from './command-table/commands.ts';
import { flagsOf } from './command-table/flags.ts';

/** What a command gets, without the defaults of its flags. */
function parsed(line: string) {
  const words = line.split(' ');
  const command = COMMANDS.find(({ path }) => path.join(' ') === words.slice(0, path.length).join(' '));
  if (command === undefined) throw new Error(`no command in ${line}`);
  const { args, options } = parseArguments(words.slice(command.path.length), command, flagsOf(command));
  const defaults = new Set(flagsOf(command).map((flag) => flag.default));
  return [args, Object.fromEntries(Object.entries(options).filter(([, value]) => !defaults.has(value as string)))];
}

describe('flags', () => {
  it.each<[string, string[], object]>([
    ['get clusters -o=name', [], { output: 'name' }],
    ['auth can-i -qA get pods', ['get', 'pods'], { quiet: true, allNamespaces: true }],
    ['get clusters -oname', [], { output: 'name' }],
    ['get clusters -l=a=b', [], { selector: 'a=b' }],
    ['get clusters -l =a', [], { selector: '=a' }],
    ['get clusters -l=', [], { selector: '' }],
    ['logout --all --all=false', [], {}],
    ['get clusters --no-headers=true x', ['x'], { headers: false }],
    ['get clusters --token t n', ['n'], { token: 't' }],
    ['get clusters -o json -o yaml', [], { output: 'yaml' }],
    ['get clusters -- -o=name', ['-o=name'], {}],
    ['kubectl --cluster=a get pods -n x --server=y', ['get', 'pods', '-n', 'x', '--server=y'], { cluster: 'a' }],
    ['kubectl --cluster a -n x get pods --cluster b', ['-n', 'x', 'get', 'pods', '--cluster', 'b'], { cluster: 'a' }],
    ['kubectl --cluster a -nx --v=6 get pods', ['-nx', '--v=6', 'get', 'pods'], { cluster: 'a' }],
    // A value may look like a flag.
    ['credential --cluster -o=name --as -w', [], { cluster: '-o=name', as: '-w' }],
    ['credential --audience a --audience=b=c', [], { audience: ['a', 'b=c'] }],
    ['credential --no-cache --login', [], { cache: false, login: true }],
    ['create token x --tracked --no-tracked', ['x'], { tracked: false }],
    // Behind `--` flags are those of the command.
    ['exec --all -- kubectl get pods -o json', ['kubectl', 'get', 'pods', '-o', 'json'], { all: true }],
    ['exec --all --as ci/builder kubectl version', ['kubectl', 'version'], { all: true, as: 'ci/builder' }],
  ])('%s', (line, args, options) => {
    expect(parsed(line)).toEqual([args, options]);
  });
});

describe('wrong usage', () => {
  it.each([
    ['logout --all=maybe', '--all: "maybe" is neither true nor false'],
    ['get clusters -x=1', "unknown option '-x=1'"],
    ['get clusters --selectr a', "unknown option '--selectr'"],
    ['get clusters --constructor', "unknown option '--constructor'"],
    ['get clusters -o', "option '-o, --output <wide|json|yaml|name>' argument missing"],
    ['describe cluster', "missing required argument 'NAME'"],
    ['confirm a b', "too many arguments for 'confirm'. Expected 1 argument but got 2: a, b."],
    ['credential x', "too many arguments for 'credential'. Expected 0 arguments but got 1: x."],
    // Flags of which one would be ignored.
    [
      'sync export --once --metrics-listen x',
      "option '--metrics-listen <address>' cannot be used with option '--once'",
    ],
    ['get clusters -o xml', '--output: "xml" must be one of wide, json, yaml, name'],
    ['keys rotate --dry-run=', '--dry-run: "" must be one of server, none'],
    ['create token --as-me -n ci', "option '--as-me' cannot be used with option '-n, --namespace <namespace>'"],
    ['create token --as-me --for-cluster', "option '--as-me' cannot be used with option '--for-cluster'"],
    ['create token --as-me --audience x', "option '--as-me' cannot be used with option '--audience <audience>'"],
  ])('%s', (line, problem) => {
    expect(() => parsed(line)).toThrow(new UsageError(problem));
  });
});
