import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const SOURCES = ['src', 'console/src', 'bench', 'scripts', 'test'].map((folder) => `${folder}/**/*.{ts,tsx,mjs}`);
const IS_TEST = /^test\/|\.(?:test|fixture)\.tsx?$/;

describe('sources', () => {
  const files = new Map<string, string>();

  beforeAll(async () => {
    for await (const file of glob(SOURCES, { cwd: ROOT })) files.set(file, await readFile(join(ROOT, file), 'utf8'));
    expect(files.size).toBeGreaterThan(1_000);
  });

  it('have at most 400 lines', () => {
    const long = [...files].filter(([file, text]) => !IS_TEST.test(file) && text.split('\n').length - 1 > 400);
    expect(long.map(([file]) => file)).toEqual([]);
  });

  it('have comments of at most 120 columns, which the formatter does not wrap', () => {
    const wide = [...files].flatMap(([file, text]) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          line.length > 120 && /^\s*(?:\/\/|\/?\*)/.test(line) ? [`${file}:${index + 1}`] : [],
        ),
    );
    expect(wide).toEqual([]);
  });

  it('cache by value: no map that is keyed by the identity of an object', () => {
    const hidden = [...files].filter(([file, text]) => file.startsWith('src/') && /\bWeak(?:Map|Set|Ref)\b/.test(text));
    expect(hidden.map(([file]) => file)).toEqual([]);
  });

  it('throw from what is named check… or require…: a caller cannot forget an error that is not returned', () => {
    const forgettable = /\brefuse[A-Z]\w*|\b(?:check|require)[A-Z]\w*(?: = )?\([^)]*\): (?:\w+ \| )*ApiError\b/;
    const found = [...files].flatMap(([file, text]) =>
      file.startsWith('src/') && forgettable.test(text) ? [`${file}: ${forgettable.exec(text)?.[0]}`] : [],
    );
    expect(found).toEqual([]);
  });
});
