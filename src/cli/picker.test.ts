import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { fakeContext } from './cli.fixture.ts';
import { choose } from './picker.ts';

const choicesOf = (...labels: string[]) => labels.map((label) => ({ label, value: label.toUpperCase() }));
const FLEET = choicesOf('prod-eu-1', 'prod-us-1', 'dev-eu-1');

/** A person who types these lines at a terminal, and what is on it at the end. */
async function typed(text: string, choices = FLEET) {
  const input = new PassThrough();
  const output = new PassThrough();
  let screen = '';
  output.on('data', (data) => {
    screen += data;
  });
  const chosen = choose({ ...fakeContext({}), terminal: () => ({ input, output }) }, 'name one', choices);
  for (const line of text.split(/(?<=\n)/)) {
    await expect.poll(() => screen.endsWith('name: ')).toBe(true);
    screen += '\n';
    input.write(line);
  }
  if (!text.endsWith('\n')) input.end();
  return { result: await chosen.catch((error: Error) => error.message), screen };
}

describe('a choice at a terminal', () => {
  it('is that of the number, of the whole name, or the only one with the typed words', async () => {
    expect((await typed('2\n')).result).toBe('PROD-US-1');
    expect((await typed('us\n')).result).toBe('PROD-US-1');
    expect((await typed('EU prod\n')).result).toBe('PROD-EU-1');
    expect((await typed('prod\n', choicesOf('prod', 'prod-2'))).result).toBe('PROD');
  });

  it('is asked for again, with what matches', async () => {
    const { result, screen } = await typed('eu\n2\n');
    expect(result).toBe('DEV-EU-1');
    expect(screen).toContain('1) prod-eu-1\n2) dev-eu-1\nNumber');
    expect((await typed('xy\n9\n3\n')).result).toBe('DEV-EU-1');
  });

  it('is none at the end of the input', async () => {
    expect((await typed('e')).result).toBe('nothing was chosen');
  });

  it('moves no cursor by a name', async () => {
    expect((await typed('2\n', choicesOf('a\x1b[2J', 'b'))).screen).toContain('1) a?[2J\n');
  });
});

describe('a choice without a terminal', () => {
  const chosen = (choices: typeof FLEET) => choose(fakeContext({}), 'name one', choices);

  it('is the only one', async () => {
    expect(await chosen(choicesOf('a'))).toBe('A');
  });
});
