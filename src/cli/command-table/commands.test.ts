import { describe, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import { loadCommand, runProgram } from '../program.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { flagsOf } from './flags.ts';
import { LOCAL_COMMANDS } from './local-commands.ts';

const fail = async (): Promise<number> => {
  throw new Error('no command of a server is run');
};

describe('the table of commands', () => {
  it('has each command and each of its flags once, and code for each command', async () => {
    const paths = COMMANDS.map(({ path }) => path.join(' '));
    expect(new Set(paths).size).toBe(paths.length);
    for (const command of COMMANDS) {
      const names = flagsOf(command).flatMap(({ flags }) => flags.match(/(?<![\w-])--?[a-zA-Z][a-z-]*/g) ?? []);
      expect(new Set(names).size, command.path.join(' ')).toBe(names.length);
      for (const example of command.examples) expect(example).toContain(`clusterpass ${command.path.join(' ')}`);
      if (command.path.length > 1) expect(Object.keys(GROUPS)).toContain(command.path[0]);
      expect(typeof (await loadCommand(command))).toBe('function');
    }
  });

  it('names existing flags as conflicts', () => {
    for (const command of COMMANDS) {
      const names = flagsOf(command).flatMap(({ flags }) => flags.match(/--[a-z-]+/g) ?? []);
      for (const { conflicts = [] } of flagsOf(command)) expect(names).toEqual(expect.arrayContaining([...conflicts]));
    }
  });

  it.each([
    ['-s=https://x get --token t clusters --all=x', 'get clusters'],
    ['--insecure-skip-tls-verify whoami x', 'whoami'],
    ['get cluster a --bad', 'get clusters'],
    ['get pods/x', 'get'],
    ['constructor', ''],
    ['servers x', 'servers'],
    ['--nonsense', ''],
  ])('finds the command of %s', async (line, name) => {
    const context = fakeContext({ HOME: '/nonexistent' });
    expect(await runProgram(line.split(' '), context, fail)).toBe(1);
    expect(context.written.err).toMatch(new RegExp(`\nSee '${`clusterpass ${name}`.trim()} --help' for usage.\n$`));
  });

  it('lists all commands in sections, and connection flags once', async () => {
    const helpOf = async (...path: string[]): Promise<string> => {
      const context = fakeContext({});
      await runProgram([...path, '--help'], context, fail);
      return context.written.out;
    };
    const all = await helpOf();
    expect(all.match(/^\S.*:$/gm)?.map((title) => title.split(' (')[0])).toEqual([
      'Options:',
      'Sign in:',
      'Use clusters:',
      'Permissions:',
      'Ask and approve:',
      'Run the fleet:',
      'Other:',
      'Run a server:',
      'Connection options',
    ]);
    const firsts = new Set([...COMMANDS, ...LOCAL_COMMANDS].map(({ path: [first = ''] }) => first));
    for (const first of firsts) expect(all.match(new RegExp(`^  ${first}\\b`, 'gm')), first).toHaveLength(1);
    expect(all).toContain('--token-file');
    for (const path of [['get'], ['get', 'clusters'], ['whoami']]) {
      const help = await helpOf(...path);
      expect(help).not.toContain('--token-file');
      expect(help).toContain("Connection options, e.g. --server: see 'clusterpass --help'.");
    }
    expect(await helpOf('completion', 'bash')).not.toContain('Connection options');
  });
});
