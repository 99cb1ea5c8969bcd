import { CliError } from '../command.ts';

/**
 * kubectl's JSONPath templates: text with expressions in braces, `{range}` and `{end}`. No npm package implements them,
 * and general JSONPath packages evaluate scripts.
 */
type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'path'; readonly steps: readonly Step[] }
  | { readonly type: 'range'; readonly steps: readonly Step[]; readonly body: readonly Part[] };

type Step =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'all' }
  | { readonly type: 'deep' }
  | { readonly type: 'root' }
  | { readonly type: 'slice'; readonly from: number | undefined; readonly to: number | undefined }
  | { readonly type: 'filter'; readonly left: readonly Step[]; readonly operator: string; readonly right: unknown };

export type Template = (root: unknown) => string;

/** Throws CliError on a syntax error. */
export function parseTemplate(text: string): Template {
  const tokens = tokenize(text);
  const parts = parseParts(tokens, false);
  return (root) => render(parts, root, root);
}

interface Token {
  readonly type: 'text' | 'expression';
  readonly text: string;
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  // Braces inside quotes do not end an expression.
  const pattern = /\{((?:[^{}"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*)\}|([^{]+)|(\{)/g;
  for (const [, expression, plain, stray] of text.matchAll(pattern)) {
    if (stray !== undefined) throw new CliError(`jsonpath: unclosed or nested { in ${JSON.stringify(text)}`);
    if (expression !== undefined) tokens.push({ type: 'expression', text: expression.trim() });
    else tokens.push({ type: 'text', text: plain ?? '' });
  }
  return tokens;
}

function parseParts(tokens: Token[], inRange: boolean): Part[] {
  const parts: Part[] = [];
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    if (token.type === 'text') parts.push({ type: 'text', text: token.text });
    else if (token.text === 'end') {
      if (!inRange) throw new CliError('jsonpath: {end} without {range}');
      return parts;
    } else if (/^range\s/.test(token.text)) {
      const steps = parseSteps(token.text.slice('range'.length).trim());
      parts.push({ type: 'range', steps, body: parseParts(tokens, true) });
    } else if (/^["']/.test(token.text)) parts.push({ type: 'text', text: unquote(token.text) });
    else parts.push({ type: 'path', steps: parseSteps(token.text) });
  }
  if (inRange) throw new CliError('jsonpath: {range} without {end}');
  return parts;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function unquote(text: string): string {
  if (text.length < 2 || text.at(-1) !== text[0]) throw new CliError(`jsonpath: unterminated string in {${text}}`);
  return text.slice(1, -1).replaceAll(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter);
}

const STEP =
  /(\.\.)|\.?\[\s*(?:(\*)|(-?\d*)\s*:\s*(-?\d*)|(-?\d+)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|\?\(((?:[^()"']|"[^"]*"|'[^']*')*)\))\s*\]|\.?(\*)|\.?((?:[^.[\]\\\s]|\\.)+)|(\.)/;

function parseSteps(text: string): Step[] {
  const steps: Step[] = [];
  let rest = text;
  if (rest.startsWith('$')) {
    steps.push({ type: 'root' });
    rest = rest.slice(1);
  } else if (rest.startsWith('@')) rest = rest.slice(1);
  // A new RegExp for each call: it keeps its lastIndex, and filters call this function recursively.
  const pattern = new RegExp(STEP, 'y');
  const number = (digits: string | undefined): number | undefined => (digits ? Number(digits) : undefined);
  while (pattern.lastIndex < rest.length) {
    const match = pattern.exec(rest);
    if (match === null) throw new CliError(`jsonpath: cannot parse ${JSON.stringify(text)}`);
    const [, deep, all, from, to, index, single, double, filter, star, field] = match;
    const name = single ?? double ?? field;
    if (deep !== undefined) {
      steps.push({ type: 'deep' });
    } else if (all !== undefined || star !== undefined) steps.push({ type: 'all' });
    else if (index !== undefined) {
      const at = Number(index);
      steps.push({ type: 'slice', from: at, to: at === -1 ? undefined : at + 1 });
    } else if (from !== undefined) steps.push({ type: 'slice', from: number(from), to: number(to) });
    else if (filter !== undefined) steps.push(parseFilter(filter));
    else if (name !== undefined) steps.push({ type: 'field', name: name.replaceAll(/\\(.)/gs, '$1') });
  }
  return steps;
}

function parseFilter(text: string): Step {
  const match = /^\s*(@[^=!<>]*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*$/s.exec(text);
  if (match === null) throw new CliError(`jsonpath: cannot parse the filter ${JSON.stringify(text)}`);
  const [, left = '@', operator = 'exists', right] = match;
  return { type: 'filter', left: parseSteps(left), operator, right: right === undefined ? undefined : literal(right) };
}

function literal(text: string): unknown {
  if (/^["']/.test(text)) return unquote(text);
  if (text === 'true' || text === 'false') return text === 'true';
  const value = Number(text);
  if (Number.isNaN(value)) throw new CliError(`jsonpath: cannot parse the value ${JSON.stringify(text)}`);
  return value;
}

function render(parts: readonly Part[], node: unknown, root: unknown): string {
  return parts
    .map((part) => {
      if (part.type === 'text') return part.text;
      const values = evaluate(part.steps, [node], root);
      if (part.type === 'range') return values.map((value) => render(part.body, value, root)).join('');
      return values.map(show).join(' ');
    })
    .join('');
}

export const show = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

function evaluate(steps: readonly Step[], start: readonly unknown[], root: unknown): unknown[] {
  let nodes = [...start];
  for (const step of steps) nodes = step.type === 'root' ? [root] : nodes.flatMap((node) => follow(step, node, root));
  return nodes;
}

function follow(step: Exclude<Step, { type: 'root' }>, node: unknown, root: unknown): unknown[] {
  if (typeof node !== 'object' || node === null) return step.type === 'deep' ? [node] : [];
  const values = Object.values(node);
  switch (step.type) {
    case 'field':
      // Own properties only, not those of Object.prototype.
      return Object.hasOwn(node, step.name) && !Array.isArray(node)
        ? [(node as Record<string, unknown>)[step.name]]
        : [];
    case 'all':
      return values;
    case 'deep':
      return [node, ...values.flatMap((value) => (typeof value === 'object' ? follow(step, value, root) : []))];
    case 'slice':
      return Array.isArray(node) ? node.slice(step.from, step.to) : [];
    case 'filter':
      return Array.isArray(node) ? node.filter((item) => passes(step, item, root)) : [];
  }
}

function passes(step: Extract<Step, { type: 'filter' }>, item: unknown, root: unknown): boolean {
  const [left] = evaluate(step.left, [item], root);
  const { operator } = step;
  if (operator === 'exists') return left !== undefined;
  if (operator === '==') return left === step.right;
  if (operator === '!=') return left !== step.right;
  const right = step.right;
  if (typeof left !== typeof right || (typeof left !== 'number' && typeof left !== 'string')) return false;
  const [a, b] = [left as number | string, right as number | string];
  return { '<': a < b, '<=': a <= b, '>': a > b, '>=': a >= b }[operator] ?? false;
}
