import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const SOURCES = ['src', 'console/src', 'bench', 'scripts', 'test'].map((folder) => `${folder}/**/*.{ts,tsx,mjs}`);
const DOCUMENTS = ['*.md', 'docs/**/*.md'];
const IS_TEST = /^test\/|\.(?:test|fixture)\.tsx?$/;

const PRONOUNS = /\b(?:whoever|whomever|nobody|somebody|everybody|anybody|anew)\b|\bof (?:its|their) own\b(?! [$a-z])/i;
/** In a test: a comment, or the title of a test or a group. The rest is data, for example the names of users. */
const IS_PROSE = /^\s*(?:\/\/|\/?\*|(?:it|test|describe)\b|\]\)\()/;

describe('sources', () => {
  const files = new Map<string, string>();
  const documents = new Map<string, string>();

  beforeAll(async () => {
    const read = async (into: Map<string, string>, patterns: readonly string[]): Promise<void> => {
      for await (const file of glob(patterns, { cwd: ROOT })) into.set(file, await readFile(join(ROOT, file), 'utf8'));
    };
    await read(files, SOURCES);
    await read(documents, DOCUMENTS);
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

  it('name the caller, the server or the object, and use no indefinite pronoun for it', () => {
    const vague = [...files, ...documents].flatMap(([file, text]) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          PRONOUNS.test(line) && (!IS_TEST.test(file) || IS_PROSE.test(line)) ? [`${file}:${index + 1}`] : [],
        ),
    );
    expect(vague).toEqual([]);
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
