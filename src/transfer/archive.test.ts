import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { type Archive, ArchiveError, type ArchiveItem, ArchiveWriter, readArchive } from './archive.ts';

const ITEMS: ArchiveItem[] = [
  { key: '/registry/clusters/a', value: Buffer.from('{"x":"ü\\n"}'), createRevision: 5 },
  { key: '/internal/x', value: Buffer.from([0, 255, 10, 13]), createRevision: 2 },
  { key: '/empty', value: new Uint8Array(0), createRevision: 7 },
];

function linesOf(items: readonly ArchiveItem[] = ITEMS): string[] {
  const writer = new ArchiveWriter();
  const text = [writer.head(42), ...items.map((item) => writer.item(item)), writer.end()].join('');
  return text.split('\n').slice(0, -1);
}

async function read(lines: readonly string[]): Promise<Archive> {
  return readArchive(
    (async function* () {
      yield* lines;
    })(),
  );
}

it('reads back what was written', async () => {
  const { revision, items } = await read(linesOf());
  expect(revision).toBe(42);
  expect(items.map(({ value, ...item }) => ({ ...item, value: Buffer.from(value) }))).toEqual(
    ITEMS.map(({ value, ...item }) => ({ ...item, value: Buffer.from(value) })),
  );
  expect(await read(linesOf([]))).toEqual({ revision: 42, items: [] });
});

it('a file that lacks a line, its end, or a byte is refused', async () => {
  const lines = linesOf();
  for (let i = 0; i < lines.length; i++) {
    await expect(read(lines.toSpliced(i, 1)), `without line ${i + 1}`).rejects.toThrow(ArchiveError);
    await expect(read(lines.slice(0, i)), `${i} lines`).rejects.toThrow(ArchiveError);
  }
  await expect(read([...lines, lines[1] ?? ''])).rejects.toThrow(/after the end/);
  await expect(read(lines.with(1, (lines[1] ?? '').replace('clusters/a', 'clusters/b')))).rejects.toThrow(/changed/);
  await expect(read([lines[0] ?? '', lines[2] ?? '', lines[1] ?? '', ...lines.slice(3)])).rejects.toThrow(/changed/);
});

it.each([
  ['nothing', []],
  ['another file', ['{}']],
  ['text', ['hello']],
  ['a newer version', ['{"format":"clusterpass-store","version":2,"revision":1}']],
  ['no revision', ['{"format":"clusterpass-store","version":1,"revision":"1"}']],
  [
    'a key that is none',
    ['{"format":"clusterpass-store","version":1,"revision":1}', '{"key":1,"value":"","created":1}'],
  ],
  ['null', ['null']],
])('%s is refused, and not quoted', async (_, lines) => {
  const error = await read(lines).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ArchiveError);
  expect(String(error)).not.toContain('hello');
});

/** Lines with the end that belongs to them, as another program could write them. */
const complete = (lines: readonly string[], items = lines.length - 1): string[] => {
  const sha256 = createHash('sha256').update(lines.map((line) => `${line}\n`).join(''));
  return [...lines, JSON.stringify({ items, sha256: sha256.digest('hex') })];
};

it.each([
  [{ format: 'other' }, {}, 'was not written by `clusterpass store export`'],
  [{ version: 2 }, {}, 'written by a newer release (version 2)'],
  [{ revision: '42' }, {}, 'line 1: revision'],
  [{ revision: 0 }, {}, 'line 1: revision'],
  [{ revision: 1.5 }, {}, 'line 1: revision'],
  [{}, { key: 1 }, 'line 2: key'],
  [{}, { key: 'registry/x' }, 'line 2: key'],
  [{}, { value: null }, 'line 2: value'],
  [{}, { created: undefined }, 'line 2: created'],
  [{}, { created: 0 }, 'line 2: created'],
])('a complete file is refused with %j and %j', async (head, item, message) => {
  const [first = '', second = ''] = linesOf();
  const changed = [first, second].map((line, i) => JSON.stringify({ ...JSON.parse(line), ...[head, item][i] }));
  await expect(read(complete([first, second]))).resolves.toMatchObject({ revision: 42 });
  await expect(read(complete(changed))).rejects.toThrow(message);
});

it('the number of items must be right', async () => {
  await expect(read(complete(linesOf().slice(0, 3), 3))).rejects.toThrow(/lines are missing/);
});
