import { CliError } from '../command.ts';
import { parsePath } from './jsonpath.ts';

/** `--sort-by`: sorts by the value at a path. As in kubectl, items without a value come first. */
export function sorterFor<T>(expression: string): (items: readonly T[]) => T[] {
  const path = parsePath(expression);
  return (items) => {
    const found = items.map((item) => ({ item, value: path(item)[0] }));
    if (items.length > 0 && found.every(({ value }) => value === undefined)) {
      throw new CliError(`couldn't find any field with path ${JSON.stringify(expression)} in the list of objects`);
    }
    return found.sort((a, b) => compare(a.value, b.value)).map(({ item }) => item);
  };
}

function compare(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return Number(b === undefined) - Number(a === undefined);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return naturalOrder(sortText(a), sortText(b));
}

const sortText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Compares runs of digits as numbers: `v1.9` comes before `v1.36`. */
export function naturalOrder(a: string, b: string): number {
  const [left, right] = [pieces(a), pieces(b)];
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const [one = '', other = ''] = [left[index], right[index]];
    const isNumber = /^[0-9]/.test(one) && /^[0-9]/.test(other);
    const [x, y] = isNumber ? [withoutZeros(one), withoutZeros(other)] : [one, other];
    if (isNumber && x.length !== y.length) return x.length - y.length;
    if (x !== y) return x < y ? -1 : 1;
  }
  return left.length - right.length || (a < b ? -1 : Number(a > b));
}

const pieces = (text: string): readonly string[] => text.match(/[0-9]+|[^0-9]+/g) ?? [];
const withoutZeros = (digits: string): string => digits.replace(/^0+(?=.)/, '');
