import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** What git tracks below a path, and what it does not track yet. */
const filesOf = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', ...patterns], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '');

const IS_TEST = /^test\/|\.(?:test|fixture)\.tsx?$/;

function count(files: readonly string[], of: RegExp): number {
  let total = 0;
  for (const file of files) {
    try {
      total += readFileSync(join(ROOT, file), 'utf8').match(of)?.length ?? 0;
    } catch (error) {
      // A file that was deleted and not committed yet.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return total;
}

const lines = (...patterns: string[]): number =>
  count(
    filesOf(...patterns).filter((file) => !IS_TEST.test(file)),
    /\n/g,
  );

function sizeOf(room: string): number {
  if (room === 'tests')
    return count(
      filesOf().filter((file) => IS_TEST.test(file)),
      /\n/g,
    );
  if (room === 'documents, words') return count(filesOf('*.md'), /\S+/g);
  if (room === 'console/') return lines('console/src/*.ts', 'console/src/*.tsx');
  if (room === 'bench/') return lines('bench/*');
  if (room === 'scripts/ and bin/') return lines('scripts/*', 'bin/*');
  return lines(`${room}*.ts`);
}

const BUDGET = /^- (.+?): ([\d,]+)$/gm;

describe('the budget of each room in docs/architecture.md', () => {
  const section = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8').split('\n## Budget\n')[1]?.split('\n## ')[0];
  const rows = [...(section ?? '').matchAll(BUDGET)].map(
    ([, room = '', budget = '']) => [room.replaceAll('`', ''), Number(budget.replaceAll(',', ''))] as const,
  );

  it('has a row for each folder of src/', () => {
    const folders = filesOf('src/*/*').map((file) => `${file.split('/').slice(0, 2).join('/')}/`);
    const named = rows.map(([room]) => room);
    expect([...new Set(folders)].filter((folder) => !named.includes(folder))).toEqual([]);
    expect(named).toEqual(expect.arrayContaining(['src/', 'console/', 'bench/', 'tests', 'documents, words']));
  });

  it.each(rows)('%s has at most %i', (room, budget) => {
    expect(sizeOf(room)).toBeLessThanOrEqual(budget);
  });
});
