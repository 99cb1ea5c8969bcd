import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { QUOTAS } from '../../src/api/quotas.ts';
import { flagOf, OPTIONS } from '../../src/config/options.ts';

/** The rows of "Fixed limits" in docs/scale.md: folder, what, number, promise, and where the constant is. */
const ROW = /^\| (\w+) \| [^|]+ \| ([\d,]+) \| [^|]+ \| `(\w+)` of `([\w/.-]+)` \|$/gm;

/** The constant as its source has it: a product of whole numbers. */
function constantOf(path: string, name: string): number | undefined {
  const source = readFileSync(path, 'utf8');
  const [, product] = new RegExp(`^(?:export )?const ${name} = ([\\d_ *]+);`, 'm').exec(source) ?? [];
  return product
    ?.replaceAll('_', '')
    .split('*')
    .map(Number)
    .reduce((left, right) => left * right);
}

it('names every quota with its option and its default', () => {
  const text = readFileSync('docs/scale.md', 'utf8');
  const rowOf = ([quota, flag]: [string, string]): string => {
    const [, option] = Object.entries(OPTIONS).find(([name]) => flagOf(name as keyof typeof OPTIONS) === flag) ?? [];
    const number = Number(option !== undefined && 'default' in option ? option.default : Number.NaN);
    return `^\\| \`${quota}\`[^|]* \\| \`${flag}\` \\| ${number.toLocaleString('en')}\\b`;
  };
  for (const quota of Object.entries(QUOTAS)) expect(text).toMatch(new RegExp(rowOf(quota), 'm'));
});

const rows = [...readFileSync('docs/scale.md', 'utf8').matchAll(ROW)];

it('has the limits that an operator or a reviewer asks for', () => {
  expect(rows.length).toBeGreaterThan(30);
});

it.each(rows.map(([, folder = '', shown = '', name = '', file = '']) => [`src/${folder}/${file}`, name, shown]))(
  '%s: %s is %s',
  (path, name, shown) => {
    expect(constantOf(path, name)?.toLocaleString('en')).toBe(shown);
  },
);
