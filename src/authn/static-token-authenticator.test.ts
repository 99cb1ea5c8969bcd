import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { lonelyWork } from '../lib/work-queue.fixture.ts';
import { Secret } from '../observability/secret.ts';
import { openStaticTokenAuthenticator, parseTokenTable, readCsv } from './static-token-authenticator.ts';

describe('a line of CSV', () => {
  test.each([
    ['a,b,c', ['a', 'b', 'c']],
    ['"a,b","c ""d"""', ['a,b', 'c "d"']],
    [' a , b ', [' a ', ' b ']],
    ['a\rb,\r', ['a\rb', '\r']],
    ['a,,', ['a', '', '']],
    ['"",""', ['', '']],
  ])('%j', (line, fields) => {
    expect(readCsv(line)).toEqual({ fields });
  });

  const QUOTE = 'a quote is not closed, or text is beside a quoted field';
  const LONG = 'more than 65536 characters';

  test.each([
    ['a,b"c', ['a'], QUOTE],
    ['"a"b,c', [], QUOTE],
    ['a,"never closed', ['a'], QUOTE],
    [' "a",b', [], QUOTE],
    [`a,"${'""'.repeat(30_000)}`, ['a'], QUOTE],
    [`"${'x'.repeat(5_000_000)}"`, [], LONG],
    [','.repeat(5_000_000), [], LONG],
  ])('%#: %.30j is refused', (line, fields, problem) => {
    expect(readCsv(line)).toEqual({ fields, problem });
  });
});

describe('the table', () => {
  const digestOf = (token: string): string => new Secret(token).digest();
  const parse = async (text: string) => {
    const warnings: string[] = [];
    const { users, refused } = await parseTokenTable(text, (problem) => warnings.push(problem), lonelyWork());
    return { table: users, refused, warnings };
  };
  const user = async (text: string, token: string) => (await parse(text)).table.get(new Secret(token).digest());

  test('token, user, uid and groups, with system:authenticated at the end', async () => {
    expect(await user('tok,ada,u1,"dev,ops"', 'tok')).toEqual({
      name: 'ada',
      uid: 'u1',
      groups: ['dev', 'ops', 'system:authenticated'],
      extra: {},
    });
    expect((await user('tok,ada,u1', 'tok'))?.groups).toEqual(['system:authenticated']);
    expect(await user('tok,ada,,""', 'tok')).toMatchObject({ uid: '', groups: ['system:authenticated'] });
    const named = await user('tok,ada,u1,"system:authenticated,dev"', 'tok');
    expect(named?.groups).toEqual(['system:authenticated', 'dev']);
  });

  test('the last of two lines with one token wins, and is reported without the token', async () => {
    const { table, warnings } = await parse('canary,ada,1\ncanary,bob,2\n');
    expect(table.get(new Secret('canary').digest())?.name).toBe('bob');
    expect(warnings).toEqual(['line 2: duplicate token; this line replaces the earlier one']);
  });

  test('groups without quotes are reported: only the first counts', async () => {
    const { table, warnings } = await parse('tok,ada,1,dev,ops');
    expect(table.get(new Secret('tok').digest())?.groups).toEqual(['dev', 'system:authenticated']);
    expect(warnings).toEqual([expect.stringContaining('line 1: only the first 4 columns count')]);
  });

  test.each([
    ['ok,ada,1\ncanary,bob\n', 'line 2: needs at least 3 columns (token, user name, user uid), found 2'],
    [',ada,1', 'line 1: the token is empty'],
    ['canary,,1', 'line 1: the user name is empty'],
    ['canary,agent:claude,1', 'line 1: the user name starts with agent:, which is reserved'],
    ['canary,"ada,1', 'line 1: a quote is not closed, or text is beside a quoted field'],
  ])('%j is left out, and the token not shown', async (text, message) => {
    const { table, refused, warnings } = await parse(`${text}\nlast,eve,1\n`);
    expect([...table.keys()]).toEqual([...(text.startsWith('ok') ? ['ok'] : []), 'last'].map(digestOf));
    expect([refused, warnings]).toEqual([1, [`${message}; the line is left out`]]);
  });

  test.each(['canary,bob', 'canary,,2', 'canary,"bob"x,2'])('%j refuses its token on earlier lines', async (line) => {
    const { table } = await parse(`canary,ada,1,admins\nok,ada,1\n${line}\n`);
    expect([...table.keys()]).toEqual([digestOf('ok')]);
  });

  test('A19: the event loop runs while a large table is read', async () => {
    let ticks = 0;
    const counter = setInterval(() => ticks++, 0);
    const lines = Array.from({ length: 50_000 }, (_, index) => `token-${index},ada,1,dev\n`).join('');
    await parse(lines).finally(() => clearInterval(counter));
    expect(ticks).toBeGreaterThan(5);
  });

  test('empty lines are skipped, but counted, and a carriage return may end a line', async () => {
    const { table, warnings } = await parse('\n\r\ntok,ada,1\r\n\nbad');
    expect(table.get(digestOf('tok'))).toMatchObject({ name: 'ada', uid: '1' });
    expect(warnings).toEqual([expect.stringMatching(/^line 5: needs/)]);
  });
});

describe('the file', () => {
  let dir: string;
  let file: string;
  let reports: string[];
  let tick: (() => void) | undefined;
  let now: number;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'clusterpass-static-'));
    file = join(dir, 'tokens.csv');
    reports = [];
    tick = undefined;
    now = 0;
    await writeFile(file, 'first,ada,1,dev\nsecond,bob,2\n', { mode: 0o600 });
  });

  const open = () =>
    openStaticTokenAuthenticator({
      file,
      work: lonelyWork(),
      every: (_milliseconds, task) => {
        tick = task;
        return () => {
          tick = undefined;
        };
      },
      report: (problem) => reports.push(problem),
      monotonicNow: () => now,
    });

  test('A1: stops the start if other users can read it, without showing it', async () => {
    await writeFile(file, 'canary,ada,1\n');
    for (const mode of [0o644, 0o640, 0o604]) {
      await chmod(file, mode);
      await expect(open()).rejects.toThrow(/^--token-auth-file: .* is open to its group or to others .*chmod 600/);
      await expect(open()).rejects.not.toThrow(/canary/);
    }
  });

  test('A1: a file that is gone takes its tokens along after a minute, and brings them back', async () => {
    const tokens = await open();
    const ada = await tokens.authenticateToken(new Secret('first'));
    await rm(file);
    await tokens.refresh();
    now = 59_000;
    await tokens.refresh();
    expect([ada?.isLive(), tokens.isGone()]).toEqual([true, false]);
    now = 61_000;
    await tokens.refresh();
    expect([ada?.isLive(), tokens.isGone()]).toEqual([false, true]);
    expect(await tokens.authenticateToken(new Secret('first'))).toBeUndefined();
    await writeFile(file, 'first,ada,1,dev\n', { mode: 0o600 });
    await tokens.refresh();
    expect(tokens.isGone()).toBe(false);
    expect(await tokens.authenticateToken(new Secret('first'))).toBeDefined();
  });

  test('authenticates the tokens in the file, and no others', async () => {
    const tokens = await open();
    const caller = await tokens.authenticateToken(new Secret('first'));
    expect(caller?.as('alpha')).toEqual({ name: 'ada', uid: '1', groups: ['dev', 'system:authenticated'], extra: {} });
    expect(caller?.as(undefined)).toBe(caller?.as('alpha'));
    expect(caller).toMatchObject({ home: undefined, expiresAt: undefined, dependsOn: [] });
    for (const other of ['', 'firs', 'first ', 'FIRST', 'first\0', '__proto__']) {
      expect(await tokens.authenticateToken(new Secret(other))).toBeUndefined();
    }
  });

  test('a change is in force without a restart, and ends callers whose line changed', async () => {
    const tokens = await open();
    const [ada, bob] = [
      await tokens.authenticateToken(new Secret('first')),
      await tokens.authenticateToken(new Secret('second')),
    ];
    await writeFile(file, 'first,ada,1,"dev,ops"\nsecond,bob,2\nthird,eve,3\n');
    tick?.();
    await tokens.refresh();
    expect(ada?.isLive()).toBe(false);
    expect(bob?.isLive()).toBe(true);
    expect((await tokens.authenticateToken(new Secret('third')))?.as(undefined).name).toBe('eve');
    await writeFile(file, 'first,ada,1,"dev,ops"\n');
    await tokens.refresh();
    expect(bob?.isLive()).toBe(false);
    expect(await tokens.authenticateToken(new Secret('second'))).toBeUndefined();
    expect(reports).toEqual([]);
  });

  test('A1: a bad file is reported, by name and line, and its tokens are refused after a minute', async () => {
    const tokens = await open();
    await writeFile(file, 'canary\n');
    await tokens.refresh();
    await tokens.refresh();
    expect(reports).toEqual([
      `--token-auth-file ${file}, line 1: needs at least 3 columns (token, user name, user uid), found 1; the line is left out; its previous content stays in force for 60 seconds`,
    ]);
    expect(await tokens.authenticateToken(new Secret('second'))).toBeDefined();
    await rm(file);
    await tokens.refresh();
    expect(reports).toHaveLength(2);
    expect(await tokens.authenticateToken(new Secret('second'))).toBeDefined();
    now += 60_000;
    await tokens.refresh();
    expect(await tokens.authenticateToken(new Secret('second'))).toBeUndefined();
  });

  test('A1: a bad line takes its own token along, at once and at a start, and no others', async () => {
    const opened = await open();
    const [ada, bob] = [
      await opened.authenticateToken(new Secret('first')),
      await opened.authenticateToken(new Secret('second')),
    ];
    await writeFile(file, 'first,ada,1,dev\nsecond,"bob\nthird,eve,3\n');
    await opened.refresh();
    for (const tokens of [opened, await open()]) {
      expect(await tokens.authenticateToken(new Secret('second'))).toBeUndefined();
      expect(await tokens.authenticateToken(new Secret('third'))).toBeDefined();
      expect([tokens.isGone(), tokens.refusedLines()]).toEqual([false, 1]);
    }
    expect([ada?.isLive(), bob?.isLive()]).toEqual([true, false]);
    const report = `--token-auth-file ${file}, line 2: a quote is not closed, or text is beside a quoted field; the line is left out`;
    expect(reports).toEqual([report, report]);
    await writeFile(file, 'first,ada,1,dev\nsecond,bob,2\n');
    await opened.refresh();
    expect([bob?.isLive(), opened.refusedLines()]).toEqual([true, 0]);
  });

  test('A1: an emptied file withdraws its tokens at once', async () => {
    const tokens = await open();
    await writeFile(file, '');
    await tokens.refresh();
    expect(await tokens.authenticateToken(new Secret('second'))).toBeUndefined();
    expect(reports).toEqual([`--token-auth-file ${file} has no tokens: every static token is refused`]);
  });
});
