import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import { Invocation } from '../command.ts';
import { loadCommand } from '../load-command.ts';
import { addCommands, newProgram } from '../program.ts';
import { renderCliReference } from '../reference.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { flagsOf } from './flags.ts';
import { LOCAL_COMMANDS } from './local-commands.ts';

describe('the table of commands', () => {
  it('has each command and each of its flags once, and code for each command', async () => {
    const paths = COMMANDS.map(({ path }) => path.join(' '));
    expect(new Set(paths).size).toBe(paths.length);
    for (const command of COMMANDS) {
      const names = flagsOf(command).flatMap(({ flags }) => flags.match(/(?<![\w-])--?[a-zA-Z][a-z-]*/g) ?? []);
      expect(new Set(names).size, command.path.join(' ')).toBe(names.length);
      if (command.path.length > 1) expect(Object.keys(GROUPS)).toContain(command.path[0]);
      expect(typeof (await loadCommand(command))).toBe('function');
    }
  });

  it('has examples with existing flags', async () => {
    for (const { path, examples, passesArguments } of COMMANDS) {
      for (const example of examples) {
        expect(example).toContain(`clusterpass ${path.join(' ')}`);
        const own = example.split(' -- ', 1)[0] ?? '';
        if (passesArguments === true) continue;
        const flags = [...own.matchAll(/\s(--?[a-z][a-z-]*)/g)].map(([, flag = '']) => flag);
        const known = flagsOf(COMMANDS.find((command) => command.path === path) ?? (COMMANDS[0] as never));
        for (const flag of flags) {
          expect(
            known.some(({ flags: text }) => text.split(/[ ,]+/).includes(flag)),
            `${example}: ${flag}`,
          ).toBe(true);
        }
      }
    }
  });

  it.each([
    ['join', 'spec.xApiEndpoints.serverEndpoints[1].clientCIDR: Required value', '--client-cidr: Required value'],
    ['pass request', 'spec.serviceAccount.name: Required value', '--account: Required value'],
    ['pass request', 'spec.clusters, spec.cluster.name and some.spec.cluster', undefined],
    ['register', 'metadata.labels[a]: Invalid value', '--label: Invalid value'],
  ])('names the flag of %s that sets a field: %s', (name, message, expected) => {
    const command = COMMANDS.find(({ path }) => path.join(' ') === name);
    const invocation = new Invocation([], {}, command === undefined ? [] : flagsOf(command));
    expect(invocation.withFlagNames(message, {})).toBe(expected ?? message);
  });

  it('makes a program that accepts values with a leading dash', async () => {
    const program = new Command().exitOverride();
    const codes: number[] = [];
    const context = fakeContext({ HOME: '/nonexistent' });
    addCommands(program, ['credential'], context, (code) => codes.push(code));
    await program.parseAsync(['node', 'x', 'credential', '--cluster', 'a', '--as', '-x/-y']);
    expect(codes).toEqual([2]);
    expect(context.written.err).toContain('"-x/-y" is not a service account');
  });

  it('names existing flags as conflicts', () => {
    for (const command of COMMANDS) {
      const names = flagsOf(command).flatMap(({ flags }) => flags.match(/--[a-z-]+/g) ?? []);
      for (const { conflicts = [] } of flagsOf(command)) expect(names).toEqual(expect.arrayContaining([...conflicts]));
    }
  });

  it.each([
    ['sync export --once --metrics-listen x', '--metrics-listen', '--once'],
    ['sync import --once --metrics-listen x', '--metrics-listen', '--once'],
    ['mirror --once --metrics-listen x', '--metrics-listen', '--once'],
    ['create token --as-me -n ci', '--as-me', '--namespace'],
    ['create token --as-me --for-cluster', '--as-me', '--for-cluster'],
    ['create token --as-me --audience x', '--as-me', '--audience'],
    ['create token --as-me --bound-object-name x', '--as-me', '--bound-object-name'],
    ['auth can-i --list -A', '--list', '--all-namespaces'],
    ['auth can-i --list -q', '--list', '--quiet'],
    ['auth can-i --list --subresource token', '--list', '--subresource'],
  ])('refuses flags of which one would be ignored: %s', async (line, one, other) => {
    const context = fakeContext({ HOME: '/nonexistent' });
    const program = newProgram(context).exitOverride();
    const args = line.split(' ');
    addCommands(program, args, context, () => {});
    await expect(program.parseAsync(['node', 'x', ...args])).rejects.toMatchObject({ exitCode: 1 });
    expect(context.written.err).toMatch(
      new RegExp(`^error: option '.*${one}.*' cannot be used with option '.*${other}.*'\nSee `),
    );
  });

  it('makes help that fits into 80 columns', () => {
    const context = fakeContext({});
    const program = newProgram(context);
    addCommands(program, [], context, () => {});
    const all = program.commands.flatMap((command) => [command, ...command.commands]);
    const lines = all.flatMap((command) => command.helpInformation().split('\n'));
    // A usage is one line, with the aliases of its command.
    expect(lines.filter((line) => line.length > 80 && !line.startsWith('Usage:'))).toEqual([]);
  });

  it('is documented completely', () => {
    const text = renderCliReference();
    for (const { path, summary } of [...COMMANDS, ...LOCAL_COMMANDS]) {
      expect(text).toContain(`## ${path.join(' ')}\n`);
      expect(text).toContain(summary);
    }
  });
});
