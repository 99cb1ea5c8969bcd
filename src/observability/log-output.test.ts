import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileSink, LogOutput, type LogSink } from './log-output.ts';

/** A reader that takes a text when the test says so. */
function hangingReader(maxBytes = 10) {
  const read: string[] = [];
  const pending: { text: string; done: (error?: Error | null) => void }[] = [];
  const sink: LogSink = {
    write: (text, done) => void pending.push({ text, done }),
    writeSync: (text) => void read.push(text),
  };
  const reports: number[] = [];
  const output = new LogOutput({ sink, maxBytes, onRoom: (dropped) => reports.push(dropped) });
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

test('B20: lines that wait are written together, in order', () => {
  const { output, read, take } = hangingReader(100);
  for (const line of ['a\n', 'b\n', 'c\n']) output.write(line);
  take();
  take();
  expect(read).toEqual(['a\n', 'b\nc\n']);
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

test('B20: flushing waits for the reader, within limits', async () => {
  const { output, take } = hangingReader();
  expect(await output.flush(1)).toBe(true);
  output.write('a\n');
  expect(await output.flush(1)).toBe(false);
  const flushed = output.flush(60_000);
  take();
  expect(await flushed).toBe(true);
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
  const output = new LogOutput({ sink: fileSink(fd) });
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i}\n`);
  for (const line of lines) output.write(line);
  expect(await output.flush(10_000)).toBe(true);
  closeSync(fd);
  expect(readFileSync(path, 'utf8')).toBe(lines.join(''));
});
