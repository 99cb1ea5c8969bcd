import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import { serverUrl } from '../connection/connection.ts';
import { configFolder, kubeconfigFile } from '../files/folders.ts';
import { addCommands, flagsOf } from '../program.ts';
import { renderCliReference } from '../reference.ts';
import { COMMANDS, GROUPS } from './commands.ts';
import { STORE_COMMANDS } from './store-commands.ts';

describe('the table of commands', () => {
  it('names each command and each of its flags once, and has a file for it', async () => {
    const paths = COMMANDS.map(({ path }) => path.join(' '));
    expect(new Set(paths).size).toBe(paths.length);
    for (const command of COMMANDS) {
      const names = flagsOf(command).flatMap(({ flags }) => flags.match(/(?<![\w-])--?[a-zA-Z][a-z-]*/g) ?? []);
      expect(new Set(names).size, command.path.join(' ')).toBe(names.length);
      if (command.path.length > 1) expect(Object.keys(GROUPS)).toContain(command.path[0]);
      expect(typeof (await command.load()).run).toBe('function');
    }
  });

  it('has examples that the program understands', async () => {
    for (const { path, examples } of COMMANDS) {
      for (const example of examples) {
        expect(example).toContain(`clusterpass ${path.join(' ')}`);
        const flags = [...example.matchAll(/\s(--?[a-z][a-z-]*)/g)].map(([, flag = '']) => flag);
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

  it('makes the program: a value that starts with a dash is a value', async () => {
    const program = new Command().exitOverride();
    const codes: number[] = [];
    const context = fakeContext({ HOME: '/nonexistent' });
    addCommands(program, context, (code) => codes.push(code));
    await program.parseAsync(['node', 'x', 'credential', '--cluster', '--as', '--as', '-x/-y']);
    expect(codes).toEqual([1]);
    expect(context.said.err).toContain('"-x/-y" is not a service account');
  });

  it('is documented whole', () => {
    const text = renderCliReference();
    for (const { path, summary } of [...COMMANDS, ...STORE_COMMANDS]) {
      expect(text).toContain(`## ${path.join(' ')}\n`);
      expect(text).toContain(summary);
    }
  });
});

describe('servers', () => {
  it.each([
    ['desk.example.com', 'https://desk.example.com'],
    ['https://Desk.Example.com:443/', 'https://desk.example.com'],
    ['http://127.0.0.1:8080//', 'http://127.0.0.1:8080'],
    ['https://desk/base/', 'https://desk/base'],
  ])('%s is %s', (given, url) => {
    expect(serverUrl(given)).toBe(url);
  });

  it.each(['ftp://x', 'https://a:b@x', 'https://x?y', 'https://x#y', 'https://'])('%s is none', (given) => {
    expect(() => serverUrl(given)).toThrow(/--server/);
  });
});

it('files are where others keep theirs', () => {
  expect(configFolder({ HOME: '/h' })).toBe('/h/.config/clusterpass');
  expect(configFolder({ HOME: '/h', XDG_CONFIG_HOME: '/c' })).toBe('/c/clusterpass');
  expect(configFolder({ HOME: '/h', XDG_CONFIG_HOME: 'relative' })).toBe('/h/.config/clusterpass');
  expect(kubeconfigFile({ HOME: '/h' })).toBe('/h/.kube/config');
  expect(kubeconfigFile({ HOME: '/h', KUBECONFIG: ':/a:/b' })).toBe('/a');
});
