import { describe, expect, it } from 'vitest';
import { cpuTimeOf } from '../../lib/cpu-time.fixture.ts';
import { parseTemplate } from './jsonpath.ts';

/** The example of kubectl's documentation. */
const data = {
  kind: 'List',
  items: [
    {
      kind: 'None',
      metadata: { name: '127.0.0.1', labels: { 'kubernetes.io/hostname': 'a' } },
      status: { n: 4, ok: true },
    },
    { kind: 'None', metadata: { name: '127.0.0.2' }, status: { n: 8 } },
  ],
  users: [
    { name: 'myself', user: {} },
    { name: 'e2e', user: { username: 'admin', password: 'secret' } },
  ],
};

describe('templates', () => {
  it.each([
    ['kind is {.kind}', 'kind is List'],
    ['{.kind}', 'List'],
    ["{['kind']}", 'List'],
    ['{$.kind}', 'List'],
    ['{..name}', '127.0.0.1 127.0.0.2 myself e2e'],
    ['{.items[*].metadata.name}', '127.0.0.1 127.0.0.2'],
    ['{.items[0].metadata.name}', '127.0.0.1'],
    ['{.items[-1].metadata.name}', '127.0.0.2'],
    ['{.items[0:1].metadata.name}', '127.0.0.1'],
    ['{.items[-1:].metadata.name}', '127.0.0.2'],
    ['{.items[1:].metadata.name}', '127.0.0.2'],
    ['{.users[?(@.name=="e2e")].user.password}', 'secret'],
    ["{.users[?(@.name=='e2e')].user.password}", 'secret'],
    ['{.items[?(@.status.n>4)].metadata.name}', '127.0.0.2'],
    ['{.items[?(@.status.n<=4)].metadata.name}', '127.0.0.1'],
    ['{.items[?(@.status.n!=4)].metadata.name}', '127.0.0.2'],
    ['{.items[?(@.status.ok==true)].metadata.name}', '127.0.0.1'],
    ['{.users[?(@.user.username)].name}', 'e2e'],
    ['{range .items[*]}[{.metadata.name}, {.status.n}] {end}', '[127.0.0.1, 4] [127.0.0.2, 8] '],
    ['{range .items[*]}{.metadata.name}{"\\t"}{end}', '127.0.0.1\t127.0.0.2\t'],
    [String.raw`{.items[0].metadata.labels.kubernetes\.io/hostname}`, 'a'],
    ["{.items[0].metadata.labels['kubernetes.io/hostname']}", 'a'],
    ['{.items[0].status}', '{"n":4,"ok":true}'],
    ['{.missing.field}', ''],
    ['{"{"}', '{'],
  ])('%s', (template, expected) => {
    expect(parseTemplate(template)(data)).toBe(expected);
  });

  it.each(['{.a', '{range .items[*]}x', '{end}', '{.items[?(x)]}', '{.items[}', '{"x}', '{.items[?(@.a==b)]}'])(
    'refuses %s',
    (template) => {
      expect(() => parseTemplate(template)(data)).toThrow(/jsonpath/);
    },
  );

  it('does not read properties of the prototype', () => {
    expect(parseTemplate('{.constructor}{.__proto__}{.toString}{.items.length}')(data)).toBe('');
  });

  it('parses hostile text quickly', () => {
    const parseAll = (): void => {
      for (const part of ['{', '[', '.', '"', '\\', '{.a', '?(', "['"]) {
        try {
          parseTemplate(`{${part.repeat(20_000)}}`);
        } catch {
          // A syntax error is fine.
        }
      }
    };
    expect(cpuTimeOf(parseAll)).toBeLessThan(5_000);
  });
});
