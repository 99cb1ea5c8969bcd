import { isQualifiedName } from '../../api/names.ts';
import { selectorSizeProblem } from '../../api/selectors.ts';
import {
  compile,
  invalid,
  type LabelOperator,
  makeRequirement,
  printRequirement,
  type Requirement,
  SelectorSyntaxError,
  type ValueTest,
} from './label-requirement.ts';

export type { LabelOperator, Requirement } from './label-requirement.ts';

/** Requirements that must all hold. Immutable. */
export class LabelSelector {
  /** Without repeats: to check an object costs a test for each. Sorted by their texts. */
  readonly requirements: readonly Requirement[];
  readonly #text: string;
  readonly #tests: ReadonlyArray<{ readonly key: string; readonly test: ValueTest }>;

  constructor(requirements: readonly Requirement[]) {
    const byText = new Map(requirements.map((requirement) => [printRequirement(requirement), requirement]));
    const sorted = [...byText].sort(([a], [b]) => (a < b ? -1 : 1));
    this.requirements = sorted.map(([, requirement]) => requirement);
    this.#text = sorted.map(([text]) => text).join(',');
    this.#tests = this.requirements.map((requirement) => ({ key: requirement.key, test: compile(requirement) }));
  }

  /** An empty selector restricts nothing. */
  get isEmpty(): boolean {
    return this.requirements.length === 0;
  }

  matches(labels: Readonly<Record<string, string>> | undefined): boolean {
    for (const { key, test } of this.#tests) {
      if (!test(lookUp(labels, key))) return false;
    }
    return true;
  }

  /** Equal for selectors with the same requirements in other words (`a=b`, `a in (b)`) or another order. */
  toString(): string {
    return this.#text;
  }
}

/** Own properties only: `constructor` and `toString` are legal label keys that every record inherits. */
const lookUp = (labels: Readonly<Record<string, string>> | undefined, key: string): string | undefined =>
  labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;

/**
 * Parses the grammar of Kubernetes' label selectors: comma-joined `k`, `!k`, `k=v`, `k==v`, `k!=v`,
 * `k>int`, `k<int`, `k in (a,b)`, `k notin (a,b)`. Values may be empty. `in` and `notin` are
 * operators only where an operator is due, and keys or values elsewhere.
 *
 * @throws SelectorSyntaxError with Kubernetes' own words, which are part of the interface.
 */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = new LabelTokens(text);
  const requirements: Requirement[] = [];
  if (tokens.peek().kind === 'end') return new LabelSelector([]);
  if (!startsRequirement(tokens.peek())) {
    throw unexpected(tokens.peek(), ", expected: !, identifier, or 'end of string'");
  }
  for (;;) {
    requirements.push(parseRequirement(tokens));
    const separator = tokens.take();
    if (separator.kind === 'end') return ofBoundedSize(new LabelSelector(requirements));
    if (separator.kind !== ',') throw unexpected(separator, ", expected: ',' or 'end of string'");
    if (!startsRequirement(tokens.peek())) throw unexpected(tokens.peek(), ", expected: identifier after ','");
  }
}

function ofBoundedSize(selector: LabelSelector): LabelSelector {
  const { requirements } = selector;
  const values = requirements.reduce((sum, requirement) => sum + requirement.values.length, 0);
  const problem = selectorSizeProblem(requirements.length, values);
  if (problem !== undefined) throw new SelectorSyntaxError(problem);
  return selector;
}

const startsRequirement = ({ kind }: Token): boolean => kind === 'word' || kind === '!';

const unexpected = ({ text }: Token, expectation: string): SelectorSyntaxError =>
  new SelectorSyntaxError(`found '${text}'${expectation}`);

function parseRequirement(tokens: LabelTokens): Requirement {
  try {
    return parseBareRequirement(tokens);
  } catch (error) {
    if (!(error instanceof SelectorSyntaxError)) throw error;
    throw new SelectorSyntaxError(`unable to parse requirement: ${error.message}`);
  }
}

function parseBareRequirement(tokens: LabelTokens): Requirement {
  const negated = tokens.peek().kind === '!';
  if (negated) tokens.take();
  const key = tokens.take();
  if (key.kind !== 'word') throw unexpected(key, ', expected: identifier');
  const complaints = isQualifiedName(key.text);
  // The path is absent at this point of Kubernetes' parser, and Go prints that as `<nil>`.
  if (complaints.length > 0) throw new SelectorSyntaxError(invalid('<nil>', key.text, complaints.join('; ')));
  if (negated) return makeRequirement(key.text, '!', []);
  if (endsRequirement(tokens.peek())) return makeRequirement(key.text, 'exists', []);

  const token = tokens.take();
  const operator = parseOperator(token);
  const values = token.kind === 'word' ? parseSet(tokens) : [parseValue(tokens)];
  return makeRequirement(key.text, operator, values);
}

const endsRequirement = ({ kind }: Token): boolean => kind === 'end' || kind === ',';

const OPERATORS: Readonly<Partial<Record<TokenKind, LabelOperator>>> = {
  '=': 'in',
  '==': 'in',
  '!=': 'notin',
  '>': 'gt',
  '<': 'lt',
};

function parseOperator(token: Token): LabelOperator {
  if (token.kind === 'word' && (token.text === 'in' || token.text === 'notin')) return token.text;
  const operator = OPERATORS[token.kind];
  if (operator === undefined) throw unexpected(token, ', expected: in, notin, =, ==, !=, gt, lt');
  return operator;
}

function parseValue(tokens: LabelTokens): string {
  if (endsRequirement(tokens.peek())) return '';
  const value = tokens.take();
  if (value.kind !== 'word') throw unexpected(value, ', expected: identifier');
  return value.text;
}

/** `(a,b)`. A comma without a word before or after it stands for the empty value, and so does `()`. */
function parseSet(tokens: LabelTokens): string[] {
  const open = tokens.take();
  if (open.kind !== '(') throw unexpected(open, " expected: '('");
  const values: string[] = [];
  const first = tokens.peek();
  if (first.kind !== 'word' && first.kind !== ',' && first.kind !== ')') {
    throw unexpected(first, ", expected: ',', ')' or identifier");
  }
  for (;;) {
    const token = tokens.peek();
    if (token.kind === 'word') values.push(tokens.take().text);
    else if (token.kind === ',' || token.kind === ')') values.push('');
    else throw unexpected(token, ", expected: ',', or identifier");

    const separator = tokens.peek();
    if (separator.kind !== ',' && separator.kind !== ')') throw unexpected(separator, ", expected: ',' or ')'");
    tokens.take();
    if (separator.kind === ')') return values;
  }
}

/** Tokens of a label selector. `in` and `notin` are words: only the parser knows where they are operators. */
type TokenKind = 'word' | 'end' | '=' | '==' | '!=' | '!' | '>' | '<' | '(' | ')' | ',';

interface Token {
  readonly kind: TokenKind;
  /** As written; empty at the end. */
  readonly text: string;
}

const SIGNS: ReadonlySet<string> = new Set(['=', '!', '(', ')', ',', '>', '<'] satisfies TokenKind[]);
const BLANKS: ReadonlySet<string> = new Set([' ', '\t', '\r', '\n']);
const END: Token = { kind: 'end', text: '' };

const isSign = (char: string): char is TokenKind => SIGNS.has(char);

/**
 * The lexer. After the last token it returns `end`. It reads each character at most three times, so the cost is linear.
 *
 * Kubernetes takes a NUL for the end of the text, so that a selector that begins with one selects everything. Here a
 * NUL is part of a word, and the validation of keys and values refuses it.
 */
export class LabelTokens {
  readonly #text: string;
  #at = 0;
  #next: Token | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  peek(): Token {
    this.#next ??= this.#scan();
    return this.#next;
  }

  take(): Token {
    const token = this.peek();
    this.#next = undefined;
    return token;
  }

  #scan(): Token {
    const text = this.#text;
    while (this.#at < text.length && BLANKS.has(text.charAt(this.#at))) this.#at++;
    if (this.#at === text.length) return END;
    const sign = text.charAt(this.#at);
    return isSign(sign) ? this.#scanSign(sign) : this.#scanWord();
  }

  #scanSign(sign: TokenKind): Token {
    this.#at++;
    const doubled = (sign === '=' || sign === '!') && this.#text[this.#at] === '=';
    if (!doubled) return { kind: sign, text: sign };
    this.#at++;
    const kind = sign === '=' ? '==' : '!=';
    return { kind, text: kind };
  }

  #scanWord(): Token {
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const char = this.#text.charAt(this.#at);
      if (SIGNS.has(char) || BLANKS.has(char)) break;
      this.#at++;
    }
    return { kind: 'word', text: this.#text.slice(start, this.#at) };
  }
}
