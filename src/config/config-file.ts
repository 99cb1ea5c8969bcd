import { readFileSync } from 'node:fs';
import { isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import { fileProblem } from '../lib/file-problem.ts';
import { didYouMean } from '../lib/nearest.ts';
import type { Option } from './option.ts';
import { keyOf, OPTION_NAMES, OPTIONS, type OptionName } from './options.ts';

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
