import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';

/**
 * CEL expressions over claims and users. The operator writes the expressions, but whoever signs in has a say in the
 * claims, so a run has a budget: every turn of a loop and every stretch of text that is matched takes from it.
 */
export interface Expression {
  readonly source: string;
  /** The type that it gives, as far as it is known beforehand: `bool`, `string`, `list<string>`, `dyn`. */
  readonly type: string;
  /** Whether `claims.<name>` occurs in it. */
  mentions(claim: string): boolean;
  /** Throws ExpressionFailed. */
  run(variables: Readonly<Record<string, unknown>>): unknown;
}

/** The expression can not be used; the message says why, for the operator. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

/** The expression has no value for these claims. */
export class ExpressionFailed extends Error {
  override readonly name = 'ExpressionFailed';
}

/** Turns of a loop take a third of a microsecond or more: in all a few milliseconds. */
export const BUDGET = 10_000;
/** The linear engine takes some twenty microseconds to begin with, and up to two for a character. */
const MATCH_UNITS = 20;
const MAX_SOURCE = 8 * 1024;

let budget = 0;

function spend(units: number): void {
  budget -= units;
  if (budget < 0) throw new ExpressionFailed('the expression takes too many steps for these claims');
}

const asciiOnly = (pattern: RegExp, convert: (letter: string) => string) => (text: string) =>
  text.replaceAll(pattern, convert);

/**
 * Functions of CEL that the library has in an unsafe or different form, by the name they are called by instead:
 * `matches` there is a regular expression of JavaScript, which hostile text can hold up for hours; `lowerAscii`
 * also turns the Kelvin sign into a k, and so one name into another.
 */
const REPLACED: Readonly<Record<string, string>> = {
  matches: 'linear_matches',
  lowerAscii: 'plain_lowerAscii',
  upperAscii: 'plain_upperAscii',
};

const patterns = new Map<string, RE2JS>();
const MAX_PATTERNS = 256;

function compiled(pattern: string): RE2JS {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  // A pattern may come from a claim, too: compiling one takes its time.
  spend(100 + pattern.length * 10);
  const made = RE2JS.compile(pattern);
  if (patterns.size >= MAX_PATTERNS) patterns.clear();
  patterns.set(pattern, made);
  return made;
}

function environment(): Environment {
  return new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
    .registerFunction('string.linear_matches(string): bool', (text: string, pattern: string) => {
      spend(MATCH_UNITS + text.length);
      return compiled(pattern).matcher(text).find();
    })
    .registerFunction(
      'string.plain_lowerAscii(): string',
      asciiOnly(/[A-Z]+/g, (letters) => letters.toLowerCase()),
    )
    .registerFunction(
      'string.plain_upperAscii(): string',
      asciiOnly(/[a-z]+/g, (letters) => letters.toUpperCase()),
    )
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) => {
      spend(1 + text.length);
      return text.replaceAll(from, () => to);
    });
}

/** `claims`: whatever a token says. */
const CLAIMS = environment().registerVariable('claims', 'map<string, dyn>');
/** `user`: who it was found to be. */
const USER = environment().registerVariable('user', {
  schema: { username: 'string', uid: 'string', groups: 'list<string>', extra: 'map<string, list<string>>' },
});

/** Throws ExpressionError. */
export const compileOverClaims = (source: string): Expression => compile(CLAIMS, source);
export const compileOverUser = (source: string): Expression => compile(USER, source);

function compile(env: Environment, source: string): Expression {
  if (source.length > MAX_SOURCE) throw new ExpressionError(`must not be longer than ${MAX_SOURCE} characters`);
  try {
    const parsed = env.parse(source);
    const selected = new Set<string>();
    visit(parsed.ast, (node) => {
      limit(node);
      const name = selectedClaim(node);
      if (name !== undefined) selected.add(name);
    });
    const { valid, type, error } = parsed.check();
    if (!valid) throw error ?? new Error('not valid');
    return {
      source,
      type: type ?? 'dyn',
      mentions: (claim) => selected.has(claim),
      run(variables) {
        budget = BUDGET;
        try {
          const value: unknown = parsed(variables);
          // `||` goes on after a failure of one side: a run that was cut short has no value, whatever came out.
          spend(0);
          return value;
        } catch (cause) {
          if (cause instanceof ExpressionFailed) throw cause;
          throw new ExpressionFailed(firstLine(cause), { cause });
        }
      },
    };
  } catch (error) {
    throw new ExpressionError(firstLine(error));
  }
}

/** Below the first line is the source, with a mark at the place. */
const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';

function visit(value: unknown, see: (node: ASTNode) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, see);
  } else if (isNode(value)) {
    see(value);
    visit(value.args, see);
  }
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value;

/** `claims.email` and `claims.?email`. */
function selectedClaim({ op, args }: ASTNode): string | undefined {
  if (op !== '.' && op !== '.?') return undefined;
  const [operand, field] = args as [ASTNode, string];
  return operand.op === 'id' && operand.args === 'claims' ? field : undefined;
}

const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

/** What the library makes of a loop. Not part of its documented interface: its shape is checked, not assumed. */
interface Loop {
  readonly op: 'comprehension';
  readonly args: { condition?: (value: unknown) => boolean; readonly step: unknown };
}

/** Puts a loop on the budget, and a function that is not safe out of reach. */
function limit(node: ASTNode): void {
  if (node.op !== 'rcall') return;
  const args = node.args as unknown as [name: string, receiver: ASTNode, args: readonly ASTNode[]];
  const [name] = args;
  if (Object.hasOwn(REPLACED, name)) args[0] = REPLACED[name] ?? name;
  if (!LOOPS.has(name)) return;
  const loop = (node as unknown as { meta?: { alternate?: unknown } }).meta?.alternate;
  if (!isLoop(loop)) throw new ExpressionError(`${name}() needs a variable and an expression`);
  const { condition } = loop.args;
  loop.args.condition = (value) => {
    spend(1);
    return condition === undefined || condition(value);
  };
}

const isLoop = (value: unknown): value is Loop =>
  isNode(value) && (value.op as string) === 'comprehension' && 'step' in (value.args as unknown as object);
