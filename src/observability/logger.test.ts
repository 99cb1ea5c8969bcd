import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLogger, fileSink, type LogLevel, LogOutput, type LogSink } from './logger.ts';

function collect(level: LogLevel = 'debug') {
  const lines: string[] = [];
  return { lines, logger: createLogger({ level, write: (line) => lines.push(line) }) };
}
const only = (lines: readonly string[]): Record<string, unknown> => {
  expect(lines).toHaveLength(1);
  const [line = ''] = lines;
  expect(line.endsWith('\n')).toBe(true);
  return JSON.parse(line);
};

describe('a log line', () => {
  test('is one JSON object with level, time, fields and message', () => {
    const { lines, logger } = collect();
    logger.info({ code: 200, user: 'jane' }, 'request');
    const line = only(lines);
    expect(line).toMatchObject({ level: 'info', code: 200, user: 'jane', msg: 'request' });
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(line).not.toHaveProperty('pid');
  });

  test('A10: whatever a caller sends, it stays one line', () => {
    const { lines, logger } = collect();
    const hostile = 'a\n{"level":"info"}\r\u001b[31m\u0085\u009b\u2028\u2029\u007f"\\\ud800';
    logger.info({ hostile, [hostile]: 1 }, 'request');
    const [text = ''] = lines;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may be written raw
    expect(text.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
    expect(only(lines).hostile).toBe(hostile);
  });

  test('A10: long texts are cut, at any depth', () => {
    const { lines, logger } = collect();
    logger.info({ long: 'x'.repeat(1000), deep: { list: ['y'.repeat(1000)] } }, 'request');
    expect(only(lines)).toMatchObject({ long: `${'x'.repeat(253)}...`, deep: { list: [`${'y'.repeat(253)}...`] } });
  });

  test('A10: a problem is cut later: the field at fault is at its end', () => {
    const { lines, logger } = collect();
    logger.warn({ problem: `/${'x'.repeat(300)}: jwt[0].claimMapping` }, 'a file');
    logger.warn({ problem: 'x'.repeat(2000) }, 'a file');
    const problems = lines.map((line) => JSON.parse(line).problem as string);
    expect(problems).toEqual([expect.stringMatching(/claimMapping$/), `${'x'.repeat(1021)}...`]);
  });

  test('A8: tokens are not written, wherever they turn up', () => {
    const { lines, logger } = collect();
    const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';
    logger.error(
      { path: `/a/${jwt}/b`, err: new Error(`bad token ${jwt}`), deep: [{ x: `Bearer secret-token-123` }] },
      jwt,
    );
    const [text = ''] = lines;
    expect(text).not.toMatch(/eyJ|c2lnbmF0dXJl|secret-token-123/);
    expect(only(lines).path).toBe('/a/<redacted>/b');
  });

  test('values JSON cannot hold do not break it', () => {
    const { lines, logger } = collect();
    const circular: Record<string, unknown> = { big: 1n };
    circular.self = circular;
    logger.info({ circular }, 'request');
    expect(only(lines)).toMatchObject({ circular: { big: '1' } });
  });
});

/** A reader that takes a text when the test says so. */
function hangingReader(maxBytes = 10) {
  const read: string[] = [];
  const pending: { text: string; done: (error?: Error | null) => void }[] = [];
  const sink: LogSink = {
    write: (text, done) => void pending.push({ text, done }),
    writeSync: (text) => void read.push(text),
  };
  const reports: number[] = [];
  const output = new LogOutput(sink, maxBytes);
  output.onRoom = (dropped) => reports.push(dropped);
  const take = (error?: Error): void => {
    const next = pending.shift();
    if (next === undefined) throw new Error('nothing is being written');
    if (error === undefined) read.push(next.text);
    next.done(error);
  };
  return { output, read, reports, take };
}

test('B20: lines wait for the reader up to a bound; more are dropped, and reported once when there is room again', () => {
  const { output, read, reports, take } = hangingReader();
  for (const line of ['1234\n', '5678\n', 'no\n', 'no\n']) output.write(line);
  expect(read).toEqual([]);
  expect(output.dropped).toBe(2);
  take();
  expect(reports).toEqual([2]);
  take();
  output.write('abc\n');
  take();
  expect(read).toEqual(['1234\n', '5678\n', 'abc\n']);
  expect(reports).toEqual([2]);
});

test('B20: lines that could not be written count as dropped, and the next are tried', () => {
  const { output, read, reports, take } = hangingReader();
  output.write('a\n');
  take(new Error('no space left on device'));
  expect([output.dropped, reports]).toEqual([1, []]);
  output.write('b\n');
  take();
  expect([read, reports]).toEqual([['b\n'], [1]]);
});

test('B20: what waits at the exit of the process is written at once, if it can be', () => {
  const { output, read } = hangingReader();
  for (const line of ['a\n', 'b\n']) output.write(line);
  output.writeRest();
  output.writeRest();
  // The first line is being written.
  expect(read).toEqual(['b\n']);
});

test('B20: a file gets whole lines in order', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'clusterpass-log-')), 'log');
  const fd = openSync(path, 'a');
  const output = new LogOutput(fileSink(fd));
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i}\n`);
  for (const line of lines) output.write(line);
  expect(await output.flush(10_000)).toBe(true);
  closeSync(fd);
  expect(readFileSync(path, 'utf8')).toBe(lines.join(''));
});
