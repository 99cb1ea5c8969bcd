import { readFileSync } from 'node:fs';
import { isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import { fileProblem } from '../lib/file-problem.ts';
import { didYouMean } from '../lib/nearest.ts';
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
  /** For messages: the flag, the variable, or the position in the file and the key. */
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

function fromFlags(flags: Flags): Map<OptionName, Given> {
  const given = new Map<OptionName, Given>();
  for (const name of OPTION_NAMES) {
    const value = flags[name];
    const { separator = ',' }: Option = OPTIONS[name];
    const text = Array.isArray(value) ? value.join(separator) : String(value);
    if (value !== undefined) given.set(name, { text, source: flagOf(name) });
  }
  return given;
}

/** An empty variable counts as unset: container tools write "none" like that. */
function fromEnvironment(env: OptionSources['env']): Map<OptionName, Given> {
  const given = new Map<OptionName, Given>();
  for (const name of OPTION_NAMES) {
    const text = env[variableOf(name)];
    if (text !== undefined && text !== '') given.set(name, { text, source: variableOf(name) });
  }
  return given;
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
  'CLUSTERPASS_ISSUER_URL',
  'CLUSTERPASS_CLIENT_ID',
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
      // An address may hold a password, also one with slashes. It must not be logged.
      const shown = /:.*@/s.test(text) ? '<redacted>' : JSON.stringify(text.slice(0, 200));
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
    for (const [name, { text, where }] of file.values) {
      if (!given.has(name)) given.set(name, { text, source: `${where}: ${keyOf(name)}` });
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

/** Far above any real configuration file. */
const MAX_BYTES = 1024 * 1024;
/** The parser reports each: a text of invalid escapes has half a million. */
const MAX_SYNTAX_ERRORS = 20;

interface ConfigValue {
  /** Like the value of a flag. */
  readonly text: string;
  /** The file, the line and the column of the key. */
  readonly where: string;
}

interface ConfigFile {
  readonly values: ReadonlyMap<OptionName, ConfigValue>;
  readonly problems: readonly string[];
}

const failed = (problem: string): ConfigFile => ({ values: new Map(), problems: [problem] });

const NAMES = new Map(
  OPTION_NAMES.flatMap((name) => (keyOf(name) === undefined ? [] : [[keyOf(name), name] as const])),
);
const KEYS = [...NAMES.keys()].filter((key) => key !== undefined);

const isText = (node: unknown): boolean => isScalar(node) && typeof node.value === 'string';

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
  return parseConfig(text, path);
}

export function parseConfig(source: string, path: string): ConfigFile {
  const lines = new LineCounter();
  const documents = parseAllDocuments(source, { lineCounter: lines, prettyErrors: false });
  if (!Array.isArray(documents) || documents.length === 0) return { values: new Map(), problems: [] };
  const [document, second] = documents;
  if (document === undefined || second !== undefined) return failed(`${path}: expected one YAML document`);
  const at = (offset: number | undefined): string => {
    if (offset === undefined) return path;
    const { line, col } = lines.linePos(offset);
    return `${path}:${line}:${col}`;
  };
  if (document.errors.length > 0) {
    const errors = document.errors.slice(0, MAX_SYNTAX_ERRORS);
    return { values: new Map(), problems: errors.map((error) => `${at(error.pos[0])}: ${error.message}`) };
  }
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return { values: new Map(), problems: [] };
  if (!isMap(root)) return failed(`${path}: expected options as "name: value" lines`);

  const values = new Map<OptionName, ConfigValue>();
  const problems: string[] = [];
  // Walks the nodes instead of converting them to an object, so that `__proto__` is an unknown key like any other.
  for (const { key, value } of root.items) {
    const name = isScalar(key) ? String(key.value) : '';
    const where = at(isScalar(key) ? key.range?.[0] : undefined);
    const known = NAMES.get(name);
    const option: Option | undefined = known === undefined ? undefined : OPTIONS[known];
    if (known === undefined) {
      problems.push(`${where}: unknown option ${JSON.stringify(name.slice(0, 100))}${didYouMean(name, KEYS)}`);
    } else if (option?.repeatable === true && isSeq(value) && value.items.every(isText)) {
      values.set(known, { text: value.items.map(String).join(option.separator ?? ','), where });
    } else if (!isScalar(value) || value.value === null) {
      problems.push(
        `${where}: ${name} needs a plain value, not ${isScalar(value) || value === null ? 'nothing' : 'a structure'}`,
      );
    } else {
      // The source keeps numbers as written: 010 and 1e3 would change as numbers.
      const text = typeof value.value === 'string' ? value.value : (value.source ?? String(value.value));
      values.set(known, { text, where });
    }
  }
  return { values, problems };
}
