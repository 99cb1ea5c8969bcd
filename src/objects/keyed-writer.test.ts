import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../api/kind.ts';
import { notFound } from '../api/status.ts';
import { createKeyedWriter, type ObjectChange } from './keyed-writer.ts';

const OBJECT: ApiObject = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a' } };
const called =
  (name: string): ObjectChange =>
  (current) => ({ ...current, metadata: { name } });

function open(fail: (name: string) => unknown = () => undefined) {
  const written: string[] = [];
  const problems: unknown[] = [];
  const gates: (() => void)[] = [];
  const writer = createKeyedWriter(
    async (name, uid, change) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      const error = fail(name);
      if (error !== undefined) throw error;
      written.push(`${name}/${uid}=${change(OBJECT).metadata.name}`);
    },
    (problem, name) => problems.push([name, problem]),
  );
  /** Ends the writes in flight, until none begins any more. */
  const finish = async (): Promise<void> => {
    while (gates.length > 0) {
      for (const gate of gates.splice(0)) gate();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { writer, written, problems, gates, finish };
}

describe('a keyed writer', () => {
  it('writes the newest change that waits, one write at a time for each object', async () => {
    const { writer, written, gates, finish } = open();
    for (const value of ['1', '2', '3']) writer.put('a', 'u', called(value));
    expect(gates).toHaveLength(1);
    expect([writer.has('a'), writer.has('b')]).toEqual([true, false]);
    await finish();
    expect(written).toEqual(['a/u=1', 'a/u=3']);
  });

  it('reports a failure, not that the object is gone', async () => {
    const gone = notFound({ group: '', resource: 'things' }, 'a');
    const broken = new Error('no store');
    const { writer, problems, finish } = open((name) => (name === 'a' ? gone : broken));
    writer.put('a', 'u', called('x'));
    writer.put('b', 'u', called('x'));
    await finish();
    expect(problems).toEqual([['b', broken]]);
  });

  it('drops what waits when it stops, and ends what is in flight', async () => {
    const { writer, written, finish } = open();
    writer.put('a', 'u', called('1'));
    writer.put('a', 'u', called('2'));
    const stopped = writer.stop();
    writer.put('b', 'u', called('3'));
    await finish();
    await stopped;
    expect(written).toEqual(['a/u=1']);
  });
});
