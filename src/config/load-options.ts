import { readFileSync } from 'node:fs';
import { fileProblem } from '../lib/file-problem.ts';
import { isJsonObject } from '../lib/json.ts';
import { didYouMean } from '../lib/nearest.ts';
import { parseScalars } from '../lib/strict-yaml.ts';
import type { Option } from './option.ts';
import { flagOf, keyOf, OPTION_NAMES, OPTIONS, type OptionName, type OptionValues, variableOf } from './options.ts';
import { resolveOptions } from './serve-options.ts';
import { resolveStore, type StoreOptions } from './store-options.ts';
import { ValueError } from './values.ts';

/** Lists every problem with the options, so that one start reports all of them. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** Flags by option name: text, a list of a repeatable one, or true for a switch without a value. */
type Flags = Readonly<Record<string, unknown>>;

interface OptionSources {
  readonly flags: Flags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

interface Given {
  readonly text: string;
  /** For messages: the flag, the variable, or the file and the key. */
  readonly source: string;
}

/** The options of each command: `store` opens a store without serving it, `admin-token` changes a file. */
export const OPTION_NAMES_OF = {
  serve: OPTION_NAMES,
  store: OPTION_NAMES.filter(
    (name) => ['config', 'dataDir', 'productName', 'store'].includes(name) || name.startsWith('etcd'),
  ),
  'admin-token': ['config', 'dataDir'],
} as const satisfies Record<string, readonly OptionName[]>;

/** Flags over variables. An empty variable counts as unset: container tools write "none" like that. */
function givenFor(name: OptionName, { flags, env }: OptionSources): Given | undefined {
  const { separator = ',' }: Option = OPTIONS[name];
  const value = flags[name];
  const variable = variableOf(name);
  if (value === undefined) return env[variable] ? { text: env[variable], source: variable } : undefined;
  return { text: Array.isArray(value) ? value.join(separator) : String(value), source: flagOf(name) };
}

/** Variables that Kubernetes sets in every pod of a namespace with a Service called clusterpass. */
const SERVICE_LINK =
  /^CLUSTERPASS(?:_[A-Z0-9_]+)?_(?:SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_[A-Z]+)?)?)$/;

/** Variables of the client commands: a server's environment may hold them too. */
const CLIENT_VARIABLES = new Set([
  'CLUSTERPASS_SERVER',
  'CLUSTERPASS_TOKEN',
  'CLUSTERPASS_TOKEN_FILE',
  'CLUSTERPASS_CA',
  'CLUSTERPASS_AS',
  'CLUSTERPASS_AUDIENCE',
  'CLUSTERPASS_DURATION',
]);

/** An unknown variable is a warning, not an error: other programs share the environment. */
function unknownVariables(env: OptionSources['env']): string[] {
  const known = OPTION_NAMES.map(variableOf);
  return Object.keys(env)
    .filter((name) => name.startsWith('CLUSTERPASS_') && !known.includes(name) && !CLIENT_VARIABLES.has(name))
    .filter((name) => !SERVICE_LINK.test(name))
    .map((name) => `${name}: no option has this variable${didYouMean(name, known)}`);
}

/** With this variable Node accepts any certificate, also from the servers that tokens are sent to. */
const unsafeVariables = (env: OptionSources['env']): string[] =>
  env.NODE_TLS_REJECT_UNAUTHORIZED === '0'
    ? ['NODE_TLS_REJECT_UNAUTHORIZED: "0" disables certificate verification: unset it']
    : [];

/** The warnings are logged: they do not prevent the start. */
export function loadServeOptions(sources: OptionSources) {
  // Each value was returned by the parser of its option, which is what OptionValues states.
  const resolved = resolveOptions(loadValues(sources, OPTION_NAMES) as OptionValues);
  if (resolved.problems.length > 0) throw new OptionsError(resolved.problems);
  return { options: resolved.options, warnings: [...resolved.warnings, ...unknownVariables(sources.env)] };
}

export function loadStoreOptions(sources: OptionSources): { store: StoreOptions; productName: string } {
  const values = loadValues(sources, OPTION_NAMES_OF.store) as OptionValues;
  const { store, problems } = resolveStore(values);
  if (problems.length > 0) throw new OptionsError(problems);
  return { store, productName: values.productName };
}

/** The data directory, for a command that works on its files. */
export const loadDataDir = (sources: OptionSources): string =>
  (loadValues(sources, OPTION_NAMES_OF['admin-token']) as OptionValues).dataDir;

/** Flags over environment over file over defaults. Throws OptionsError with every problem found. */
function loadValues(sources: OptionSources, names: readonly OptionName[]): Partial<Record<OptionName, unknown>> {
  const { env, cwd } = sources;
  const problems: string[] = [...unsafeVariables(env)];
  const parse = (name: OptionName, { text, source }: Given): unknown => {
    try {
      return OPTIONS[name].parse(text, { cwd });
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      // An address may hold a password, also one with slashes. It must not be logged.
      const shown = /:.*@/s.test(text) ? '<redacted>' : JSON.stringify(text.slice(0, 200));
      problems.push(`${source}: ${shown} cannot be used: ${error.message}`);
      return undefined;
    }
  };

  const config = givenFor('config', sources);
  const path = config && parse('config', config);
  const file = typeof path === 'string' ? readConfigFile(path) : undefined;
  problems.push(...(file?.problems ?? []));
  const values: Partial<Record<OptionName, unknown>> = { config: path };
  for (const name of names) {
    if (name === 'config') continue;
    const { default: text }: Option = OPTIONS[name];
    const inFile = { text: file?.values.get(name), source: `${path}: ${keyOf(name)}` };
    const all = [givenFor(name, sources), inFile, { text, source: 'default' }];
    const value = all.find((each): each is Given => each?.text !== undefined);
    values[name] = value && parse(name, value);
  }
  if (problems.length > 0) throw new OptionsError(problems);
  return values;
}

/** Far above any real configuration file. */
const MAX_BYTES = 1024 * 1024;

interface ConfigFile {
  /** Like the values of flags. */
  readonly values: ReadonlyMap<OptionName, string>;
  readonly problems: readonly string[];
}

const failed = (problem: string): ConfigFile => ({ values: new Map(), problems: [problem] });

const NAMES = new Map<string, OptionName>(OPTION_NAMES.flatMap((name) => [[keyOf(name), name] as const]));
NAMES.delete('config');

/** Reads options from YAML: one mapping of known keys to scalar values. Reports all problems at once. */
export function readConfigFile(path: string): ConfigFile {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    return failed(`${path}: cannot be read: ${fileProblem(error)}`);
  }
  if (text.length > MAX_BYTES)
    return failed(`${path}: too large for a configuration file (more than ${MAX_BYTES} bytes)`);
  try {
    return configIn(parseScalars(text), path);
  } catch (error) {
    return failed(`${path}: ${(error as Error).message}`);
  }
}

function configIn(root: unknown, path: string): ConfigFile {
  if (root === null || root === '') return { values: new Map(), problems: [] };
  if (!isJsonObject(root)) return failed(`${path}: expected options as "name: value" lines`);
  const values = new Map<OptionName, string>();
  const problems: string[] = [];
  for (const [key, value] of Object.entries(root)) {
    const known = NAMES.get(key);
    const option: Option | undefined = known && OPTIONS[known];
    const isList = option?.repeatable === true && Array.isArray(value) && value.every((one) => typeof one === 'string');
    if (known === undefined) {
      problems.push(
        `${path}: unknown option ${JSON.stringify(key.slice(0, 100))}${didYouMean(key, [...NAMES.keys()])}`,
      );
    } else if (isList) values.set(known, value.join(option.separator ?? ','));
    else if (typeof value === 'string') values.set(known, value);
    else problems.push(`${path}: ${key} needs a plain value, not a structure`);
  }
  return { values, problems };
}
