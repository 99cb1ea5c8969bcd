import { describe, expect, it } from 'vitest';
import { COMMANDS } from './command-table/commands.ts';
import { flagsOf } from './command-table/flags.ts';
import { FIELDS, LISTS, parseCredentialFlags, SWITCHES, VALUES } from './credential-flags.ts';

const command = COMMANDS.find(({ path }) => path.join(' ') === 'credential');

const camelCase = (flag: string): string =>
  flag.replace(/^--(?:no-)?/, '').replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

describe('the flags of the credential plugin', () => {
  it('are those of the table', () => {
    const values = new Map<string, string>();
    const switches = new Map<string, [string, boolean]>();
    const lists = new Set<string>();
    for (const { flags, repeatable } of flagsOf(command ?? {})) {
      const [spelled = ''] = flags.split(' <');
      const names = spelled.split(', ');
      const long = names.at(-1) ?? '';
      for (const name of names) {
        if (spelled !== flags) values.set(name, camelCase(long));
        else switches.set(name, [camelCase(long), !long.startsWith('--no-')]);
      }
      if (repeatable === true) lists.add(camelCase(long));
    }
    expect(new Map([...VALUES].sort())).toEqual(new Map([...values].sort()));
    expect(new Map(SWITCHES)).toEqual(switches);
    expect(LISTS).toEqual(lists);
  });

  it('set the fields of the table', () => {
    const ofTable = flagsOf(command ?? {}).flatMap(({ flags, variable, field }) =>
      field === undefined ? [] : [{ flags, variable, field }],
    );
    expect(FIELDS).toEqual(ofTable);
    expect(FIELDS.map(({ flags }) => flags)).toEqual(['--audience <audience>', '--duration <duration>']);
  });

  it.each<[string[], object | undefined]>([
    [[], {}],
    [['--cluster', 'a', '--as=b/c', '-n', 'd'], { cluster: 'a', as: 'b/c', namespace: 'd' }],
    [['--audience', 'a', '--audience=b=c'], { audience: ['a', 'b=c'] }],
    [['--no-cache', '--login'], { cache: false, login: true }],
    [['--cluster'], undefined],
    [['--help'], undefined],
    [['word'], undefined],
    [['--login=false'], undefined],
    [['-na'], undefined],
    [['--', 'x'], undefined],
  ])('%j', (args, options) => {
    expect(parseCredentialFlags(args)).toEqual(options);
  });
});
