import type { Command } from 'commander';
import { readConfigFile } from './config-file.ts';
import { didYouMean } from './nearest.ts';
import {
  flagOf,
  keyOf,
  OPTION_NAMES,
  OPTIONS,
  type Option,
  type OptionName,
  type OptionValues,
  variableOf,
} from './options.ts';
import { resolveOptions, type ServeOptions } from './serve-options.ts';
import { resolveStore, type StoreOptions } from './store-options.ts';
import { ValueError } from './values.ts';

/** Everything that is wrong with the options, so that one start shows all of it. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** What commander found on the command line, by option name: text, or true for a switch that stands alone. */
export type Flags = Readonly<Record<string, unknown>>;

export interface OptionSources {
  readonly flags: Flags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export interface LoadedOptions {
  readonly options: ServeOptions;
  /** Worth a log line, not worth refusing to start. */
  readonly warnings: readonly string[];
}

interface Given {
  readonly text: string;
  /** Where it was given: the flag, the variable, or the file and key. */
  readonly source: string;
}

/** What a command needs that works on a store without serving it. */
const STORE_OPTION_NAMES = OPTION_NAMES.filter(
  (name) => ['config', 'dataDir', 'productName', 'store'].includes(name) || name.startsWith('etcd'),
);

/** Declares the flags of the table on a command. Defaults are left out: commander must not hide what was not given. */
export const addServeFlags = (command: Command): Command => addFlags(command, OPTION_NAMES);
export const addStoreFlags = (command: Command): Command => addFlags(command, STORE_OPTION_NAMES);

function addFlags(command: Command, names: readonly OptionName[]): Command {
  for (const name of names) {
    const { value, doc, default: text, defaultText, repeatable }: Option = OPTIONS[name];
    const fallback = defaultText ?? text;
    const help = fallback === undefined || fallback === 'false' ? doc : `${doc} (default: ${fallback})`;
    const flag = value === undefined ? `${flagOf(name)} [true|false]` : `${flagOf(name)} <${value}>`;
    const described = help.replaceAll('`', '');
    if (repeatable === true) {
      const joined = (next: string, before: string | undefined) => (before === undefined ? next : `${before},${next}`);
      command.option(flag, `${described} Can be given several times.`, joined);
    } else command.option(flag, described);
  }
  return command;
}

function fromFlags(flags: Flags): Map<OptionName, Given> {
  const given = new Map<OptionName, Given>();
  for (const name of OPTION_NAMES) {
    const value = flags[name];
    if (value !== undefined) given.set(name, { text: String(value), source: flagOf(name) });
  }
  return given;
}

/** An empty variable counts as not set: that is how container tools write "none". */
function fromEnvironment(env: OptionSources['env']): Map<OptionName, Given> {
  const given = new Map<OptionName, Given>();
  for (const name of OPTION_NAMES) {
    const text = env[variableOf(name)];
    if (text !== undefined && text !== '') given.set(name, { text, source: variableOf(name) });
  }
  return given;
}

/** Kubernetes sets such variables in every pod beside a Service that is called clusterpass. */
const SERVICE_LINK =
  /^CLUSTERPASS(?:_[A-Z0-9_]+)?_(?:SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_[A-Z]+)?)?)$/;

/** For the commands that are clients; whoever serves may be one, too. */
const CLIENT_VARIABLES = new Set([
  'CLUSTERPASS_SERVER',
  'CLUSTERPASS_TOKEN',
  'CLUSTERPASS_CA',
  'CLUSTERPASS_ISSUER_URL',
  'CLUSTERPASS_CLIENT_ID',
]);

/** An unknown variable only warns: the environment is not ours alone, and refusing to start over it would be worse. */
function unknownVariables(env: OptionSources['env']): string[] {
  const known = OPTION_NAMES.map(variableOf);
  return Object.keys(env)
    .filter((name) => name.startsWith('CLUSTERPASS_') && !known.includes(name) && !CLIENT_VARIABLES.has(name))
    .filter((name) => !SERVICE_LINK.test(name))
    .map((name) => `${name}: no option has this variable${didYouMean(name, known)}`);
}

/** Node then trusts whoever answers, also where tokens are sent to. No part of this program asks for that. */
const unsafeVariables = (env: OptionSources['env']): string[] =>
  env.NODE_TLS_REJECT_UNAUTHORIZED === '0'
    ? ['NODE_TLS_REJECT_UNAUTHORIZED: "0" turns off the checks of every certificate: unset it']
    : [];

export function loadServeOptions(sources: OptionSources): LoadedOptions {
  // Every value was made by its own parser, which is what the type says.
  const resolved = resolveOptions(loadValues(sources, OPTION_NAMES) as OptionValues);
  if (resolved.problems.length > 0) throw new OptionsError(resolved.problems);
  return { options: resolved.options, warnings: unknownVariables(sources.env) };
}

/** The same options, for a command that works on a store without serving it. */
export function loadStoreOptions(sources: OptionSources): { store: StoreOptions; productName: string } {
  const values = loadValues(sources, STORE_OPTION_NAMES) as OptionValues;
  const { store, problems } = resolveStore(values);
  if (problems.length > 0) throw new OptionsError(problems);
  return { store, productName: values.productName };
}

/** Flags over environment over file over defaults. Throws OptionsError with every problem found. */
function loadValues(
  { flags, env, cwd }: OptionSources,
  names: readonly OptionName[],
): Partial<Record<OptionName, unknown>> {
  const problems: string[] = [...unsafeVariables(env)];
  const parse = (name: OptionName, { text, source }: Given): unknown => {
    try {
      return OPTIONS[name].parse(text, { cwd });
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      // A password in an address must not end up in a log.
      const shown = /\/\/[^/]*@/.test(text) ? '<redacted>' : JSON.stringify(text.slice(0, 200));
      problems.push(`${source}: ${shown} cannot be used: ${error.message}`);
      return undefined;
    }
  };

  const given = new Map([...fromEnvironment(env), ...fromFlags(flags)]);
  const config = given.get('config');
  const path = config === undefined ? undefined : parse('config', config);
  if (typeof path === 'string') {
    const file = readConfigFile(path);
    problems.push(...file.problems);
    for (const [name, text] of file.values) {
      if (!given.has(name)) given.set(name, { text, source: `${path}: ${keyOf(name)}` });
    }
  }

  const values: Partial<Record<OptionName, unknown>> = { config: path };
  for (const name of names) {
    if (name === 'config') continue;
    const { default: text }: Option = OPTIONS[name];
    const value = given.get(name) ?? (text === undefined ? undefined : { text, source: 'default' });
    values[name] = value === undefined ? undefined : parse(name, value);
  }
  if (problems.length > 0) throw new OptionsError(problems);
  return values;
}
