import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { fakeContext } from './cli.fixture.ts';
import { choose } from './picker.ts';

const choicesOf = (...labels: string[]) => labels.map((label) => ({ label, value: label.toUpperCase() }));
const FLEET = choicesOf('prod-eu-1', 'prod-us-1', 'dev-eu-1');

/** A person who types these keys at a terminal, and what is on it at the end. */
async function typed(keys: readonly string[], choices = FLEET) {
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), { columns: 40 });
  let screen = '';
  output.on('data', (data) => {
    screen += data;
  });
  const chosen = choose({ ...fakeContext({}), terminal: () => ({ input, output }) }, 'name one', choices);
  for (const key of keys) input.write(key);
  const result = await chosen.catch((error: Error) => error.message);
  return { result, screen };
}

const [DOWN, UP, ENTER] = ['\x1b[B', '\x1b[A', '\r'];

describe('a choice at a terminal', () => {
  it('is the first, or the one that the arrows lead to, and never beyond the list', async () => {
    expect((await typed([ENTER])).result).toBe('PROD-EU-1');
    expect((await typed([DOWN, ENTER])).result).toBe('PROD-US-1');
    expect((await typed([DOWN, DOWN, DOWN, DOWN, UP, ENTER])).result).toBe('PROD-US-1');
    expect((await typed([UP, ENTER])).result).toBe('PROD-EU-1');
  });

  it('is none after Ctrl-C, Ctrl-D or Enter without a match, and the list is erased', async () => {
    for (const keys of [['\x03'], ['\x04'], ['x', 'y', ENTER]]) {
      const { result, screen } = await typed(keys);
      expect([result, screen.endsWith('\x1b[0J')]).toEqual(['nothing was chosen', true]);
    }
  });

  it('moves no cursor by a name, and fits the terminal', async () => {
    const { screen } = await typed([ENTER], choicesOf('a\x1b[2J', 'b'.repeat(100)));
    expect(screen).toContain('> a?[2J');
    expect(screen).toContain(`  ${'b'.repeat(34)}...`);
  });
});

describe('a choice without a terminal', () => {
  const chosen = (choices: typeof FLEET) => choose(fakeContext({}), 'name one', choices);

  it('is the only one', async () => {
    expect(await chosen(choicesOf('a'))).toBe('A');
  });

  it('is an error that lists what is possible', async () => {
    await expect(chosen(FLEET)).rejects.toThrow('name one: prod-eu-1, prod-us-1, dev-eu-1');
    await expect(chosen([])).rejects.toThrow('name one: there is none');
    const many = choicesOf(...Array.from({ length: 25 }, (_, index) => `c${index}`));
    await expect(chosen(many)).rejects.toThrow(/c19 and 5 more$/);
  });
});
