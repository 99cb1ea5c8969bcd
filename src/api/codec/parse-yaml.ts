import { Composer, type Document, isMap, isScalar, isSeq, type LineCounter, type Scalar, type YAMLMap } from 'yaml';
import { clip } from '../../lib/text.ts';
import { badRequest, tooLarge } from '../status.ts';
import { goQuote } from './go-text/go-quote.ts';
import { type JsonNode, NumberNode, ObjectNode, TreeBudget } from './tree.ts';
import { wellFormed } from './utf8.ts';
import { MAX_VIOLATIONS } from './violations.ts';
import { MAX_YAML_TOKENS, readYamlTokens, YamlSyntaxError, yamlFault } from './yaml-tokens.ts';

/** Bounds the time for long strings, which the limits on tokens and lines do not: this much takes up to 15 ms. */
export const MAX_YAML_BYTES = 128 * 1024;

/** Lines within a multi-line scalar, or blank ones after a block, are no tokens, and cost as much. */
export const MAX_YAML_LINES = 4_000;

interface YamlDocument {
  readonly root: JsonNode;
  /** S-07: `line 5: key "name" already set in map`. The tree has the last value of each key. */
  readonly duplicates: readonly string[];
}

/**
 * Parses one YAML document into the same tree as JSON. Plain scalars follow the core schema of YAML 1.2: only `true`
 * and `false` are booleans, `yes` and `on` are strings. kube-apiserver reads those as booleans and then refuses them
 * where a string is expected, e.g. in labels.
 *
 * @throws YamlSyntaxError when the text is not YAML, or has anchors, aliases, directives or foreign tags.
 * @throws ApiError 413 when it is too large, 400 when it is too deep, has too many parts, or is not Unicode.
 */
export function parseYaml(text: string): YamlDocument {
  if (Buffer.byteLength(text) > MAX_YAML_BYTES) throw tooLarge(MAX_YAML_BYTES);
  checkLines(text);
  let first: YamlDocument | undefined;
  for (const document of parseYamlDocuments(text, MAX_YAML_TOKENS)) {
    if (first !== undefined) throw new YamlSyntaxError('yaml: expected a single document in the stream');
    first = document;
  }
  return first ?? { root: null, duplicates: [] };
}

function checkLines(text: string): void {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    if (++lines > MAX_YAML_LINES) {
      throw badRequest(`the body of the request has more than ${MAX_YAML_LINES} lines of YAML: send it as JSON`);
    }
  }
}

/** A stream of documents, as in files of manifests. `maxTokens` bounds the time that reading them takes. */
export function* parseYamlDocuments(text: string, maxTokens: number): Generator<YamlDocument, void> {
  const { tokens, lines } = readYamlTokens(text, maxTokens);
  for (const document of createComposer(lines).compose(tokens, false, text.length)) {
    const [error] = document.errors;
    if (error !== undefined) throw yamlFault(lines, error.pos[0], error.message);
    yield new TreeReader(lines).read(document);
  }
}

/**
 * A composer that throws at the first fault. The library continues and makes an Error for each: 130 KB of invalid
 * escapes took 300 ms. It has no option for that. Its types call `onError` private, but the compiler checks that it
 * exists.
 */
function createComposer(lines: LineCounter): Composer {
  const composer = new Composer({
    schema: 'core',
    uniqueKeys: false,
    merge: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  let first: YamlSyntaxError | undefined;
  const onError = (source: FaultSource, code: string, message: string, warning?: boolean): void => {
    // This warning is about a bracket that closes at the indentation of its key, which is common.
    if (warning === true && code === 'BAD_INDENT') return;
    // The library may catch this error and report its message again.
    first ??= yamlFault(lines, offsetOfFault(source), message);
    throw first;
  };
  // biome-ignore lint/complexity/useLiteralKeys: TypeScript allows access to a private member only in this form.
  composer['onError'] = onError;
  return composer;
}

/** Where the library found a fault: an offset, a range or a token. */
type FaultSource = number | readonly number[] | { readonly offset: number };

function offsetOfFault(source: FaultSource): number {
  if (typeof source === 'number') return source;
  return 'offset' in source ? source.offset : (source[0] ?? 0);
}

class TreeReader {
  readonly #lines: LineCounter;
  readonly #budget = new TreeBudget();
  readonly #duplicates: string[] = [];

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  read(document: Document.Parsed): YamlDocument {
    return { root: this.#node(document.contents, 0), duplicates: this.#duplicates };
  }

  #node(node: unknown, depth: number): JsonNode {
    if (node === null || node === undefined) return null;
    if (isScalar(node)) return this.#scalar(node);
    if (isMap(node)) return this.#map(node, depth);
    if (isSeq(node)) {
      this.#budget.open(depth);
      return node.items.map((item) => {
        this.#budget.element();
        return this.#node(item, depth + 1);
      });
    }
    throw new YamlSyntaxError('yaml: a value of this kind is not accepted');
  }

  #map(map: YAMLMap, depth: number): ObjectNode {
    this.#budget.open(depth);
    const members = new Map<string, JsonNode>();
    for (const { key, value } of map.items) {
      this.#budget.key();
      const name = this.#key(key);
      if (members.has(name) && this.#duplicates.length < MAX_VIOLATIONS) {
        const line = this.#lines.linePos(offsetOf(key)).line;
        this.#duplicates.push(`line ${line}: key ${goQuote(clip(name))} already set in map`);
      }
      members.set(name, this.#node(value, depth + 1));
    }
    const object = new ObjectNode();
    object.keys.push(...members.keys());
    object.values.push(...members.values());
    return object;
  }

  /** Keys that are numbers or booleans become strings. */
  #key(key: unknown): string {
    const scalar = isScalar(key) ? this.#scalar(key) : null;
    if (typeof scalar === 'string') return scalar;
    if (typeof scalar === 'boolean') return String(scalar);
    if (scalar instanceof NumberNode) return scalar.text;
    throw yamlFault(this.#lines, offsetOf(key), 'a map key must be a string, a number or a boolean');
  }

  #scalar(scalar: Scalar): JsonNode {
    const { value } = scalar;
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'string') return wellFormed(value);
    if (typeof value === 'number') return new NumberNode(this.#numberText(value, scalar));
    throw yamlFault(this.#lines, offsetOf(scalar), 'a value of this kind is not accepted');
  }

  /** The number in JSON's grammar. An integer keeps every digit; how a fraction was written is lost, as in Go. */
  #numberText(value: number, scalar: Scalar): string {
    const source = scalar.source ?? '';
    if (WHOLE_NUMBER.test(source)) return BigInt(source).toString();
    if (!Number.isFinite(value)) throw yamlFault(this.#lines, offsetOf(scalar), 'JSON has no such number');
    return JSON.stringify(value);
  }
}

/** Bounded: converting a million digits would block the event loop. */
const WHOLE_NUMBER = /^(?:[-+]?[0-9]{1,40}|0x[0-9a-fA-F]{1,40}|0o[0-7]{1,40})$/;

function offsetOf(node: unknown): number {
  return isScalar(node) || isMap(node) || isSeq(node) ? (node.range?.[0] ?? 0) : 0;
}
