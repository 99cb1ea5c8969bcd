import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';

/**
 * CEL expressions over claims and users. The operator writes the expressions, but the bearer of a token influences its
 * claims. So an evaluation has a budget, which every iteration of a loop and every text that is matched spends.
 */
export interface Expression {
  readonly source: string;
  /** The type of its value, as far as the type checker knows it: `bool`, `string`, `list<string>`, `dyn`. */
  readonly type: string;
  /** Whether `claims.<name>` occurs in it. */
  mentions(claim: string): boolean;
  /** Throws ExpressionFailed. */
  evaluate(variables: Readonly<Record<string, unknown>>): unknown;
}

/** The expression does not compile. The message says why, for the operator. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

/** The expression has no value for these claims. */
export class ExpressionFailed extends Error {
  override readonly name = 'ExpressionFailed';
}

/** One iteration of a loop takes a third of a microsecond or more, so the whole budget is a few milliseconds. */
const BUDGET = 10_000;
/** A match takes some twenty microseconds to start, and up to two for each character. */
const MATCH_UNITS = 20;
/** `||`, `&&`, `all` and `exists` continue after a failure, and the library takes ten microseconds for its Error. */
const FAILURE_UNITS = 20;
const MAX_SOURCE = 8 * 1024;

/** What an evaluation of one expression may take. Evaluations are synchronous, so those of one never overlap. */
class Budget {
  #left = 0;
  #patterns = new Map<string, RE2JS>();
  #exceeded: ExpressionFailed | undefined;

  /** An evaluation starts. */
  reset(): void {
    this.#left = BUDGET;
    this.#patterns = new Map();
    this.#exceeded = undefined;
  }

  spend(units: number): void {
    this.#left -= units;
    if (this.#left >= 0) return;
    // One Error for the whole evaluation: every further step of it throws this one.
    this.#exceeded ??= new ExpressionFailed('the expression takes too many steps for these claims');
    throw this.#exceeded;
  }

  /** A pattern may come from a claim, so compiling it spends budget: once, however often it is matched. */
  compile(pattern: string): RE2JS {
    const known = this.#patterns.get(pattern);
    if (known !== undefined) return known;
    this.spend(100 + pattern.length * 10);
    const compiled = RE2JS.compile(pattern);
    this.#patterns.set(pattern, compiled);
    return compiled;
  }
}

const asciiOnly = (pattern: RegExp, convert: (letter: string) => string) => (text: string) =>
  text.replaceAll(pattern, convert);

/**
 * CEL functions that are replaced because the library's own are unsafe or differ from CEL: its `matches` is a
 * JavaScript regular expression, which hostile text can block for hours; its `lowerAscii` also turns the Kelvin sign
 * into a k, and so one name into another.
 */
const REPLACED: Readonly<Record<string, string>> = {
  matches: 'linear_matches',
  lowerAscii: 'plain_lowerAscii',
  upperAscii: 'plain_upperAscii',
};

function environment(budget: Budget): Environment {
  return new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
    .registerFunction('string.linear_matches(string): bool', (text: string, pattern: string) => {
      budget.spend(MATCH_UNITS + text.length);
      return budget.compile(pattern).matcher(text).find();
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
      budget.spend(1 + text.length);
      return text.replaceAll(from, () => to);
    });
}

const USER_SCHEMA = { username: 'string', uid: 'string', groups: 'list<string>', extra: 'map<string, list<string>>' };

/** Over `claims`, the claims of the token. Throws ExpressionError. */
export const compileClaimsExpression = (source: string): Expression =>
  compile(source, (env) => env.registerVariable('claims', 'map<string, dyn>'));

/** Over `user`, what the claims were mapped to. Throws ExpressionError. */
export const compileUserExpression = (source: string): Expression =>
  compile(source, (env) => env.registerVariable('user', { schema: USER_SCHEMA }));

function compile(source: string, withVariable: (env: Environment) => Environment): Expression {
  if (source.length > MAX_SOURCE) throw new ExpressionError(`must not be longer than ${MAX_SOURCE} characters`);
  const budget = new Budget();
  try {
    const parsed = withVariable(environment(budget)).parse(source);
    const selected = new Set<string>();
    visit(parsed.ast, (node) => {
      limit(node, budget);
      const name = selectedClaim(node);
      if (name !== undefined) selected.add(name);
    });
    const { valid, type, error } = parsed.check();
    if (!valid) throw error ?? new Error('not valid');
    chargeFailures(parsed.ast, budget, new Set());
    return {
      source,
      type: type ?? 'dyn',
      mentions: (claim) => selected.has(claim),
      evaluate(variables) {
        budget.reset();
        try {
          const value: unknown = parsed(variables);
          // `||` continues after an error on one side: an evaluation that exceeded its budget has no value.
          budget.spend(0);
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

/** The lines below the first repeat the source and mark the position. */
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

/**
 * Charges each failure to the budget. The library reads `input` of a node only when it makes an Error for that node, to
 * quote the source in the message. The getter returns no source: quoting it would take longer than the evaluation.
 */
function chargeFailures(value: unknown, budget: Budget, seen: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (Array.isArray(value)) {
    for (const item of value) chargeFailures(item, budget, seen);
    return;
  }
  if (isNode(value)) {
    Object.defineProperty(value, 'input', {
      get: () => {
        budget.spend(FAILURE_UNITS);
        return '';
      },
    });
    chargeFailures(value.args, budget, seen);
    // A loop is replaced by the node in `meta.alternate`.
    chargeFailures((value as { meta?: { alternate?: unknown } }).meta?.alternate, budget, seen);
    return;
  }
  // The parts of a loop: what it iterates over, and its step.
  for (const part of Object.values(value)) if (isNode(part)) chargeFailures(part, budget, seen);
}

const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

/** The library's AST node of a loop. It is not documented, so its shape is checked, not assumed. */
interface Loop {
  readonly op: 'comprehension';
  readonly args: { condition?: (value: unknown) => boolean; readonly step: unknown };
}

/** Makes a loop spend budget, and replaces the name of an unsafe function. */
function limit(node: ASTNode, budget: Budget): void {
  if (node.op !== 'rcall') return;
  const args = node.args as unknown as [name: string, receiver: ASTNode, args: readonly ASTNode[]];
  const [name] = args;
  if (Object.hasOwn(REPLACED, name)) args[0] = REPLACED[name] ?? name;
  if (!LOOPS.has(name)) return;
  const loop = (node as unknown as { meta?: { alternate?: unknown } }).meta?.alternate;
  if (!isLoop(loop)) throw new ExpressionError(`${name}() needs a variable and an expression`);
  const { condition } = loop.args;
  loop.args.condition = (value) => {
    budget.spend(1);
    return condition === undefined || condition(value);
  };
}

const isLoop = (value: unknown): value is Loop =>
  isNode(value) && (value.op as string) === 'comprehension' && 'step' in (value.args as unknown as object);
