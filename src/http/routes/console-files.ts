import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type TaggedBytes, tagged } from '../response/entity-tag.ts';

/** Content codings of the built files, best first; the build writes each beside the original. */
const CODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

type Coding = (typeof CODINGS)[number]['name'] | 'identity';

/** Each has its own hash: a strong entity tag names exact bytes (RFC 9110 section 8.8.3). */
export interface CodedBytes extends TaggedBytes {
  readonly coding: Coding;
}

export interface ConsoleFile {
  readonly contentType: string;
  /** Its name changes with its content, so clients may cache it for good. */
  readonly immutable: boolean;
  /** In order of preference; the last is the file itself. */
  readonly codings: readonly CodedBytes[];
}

/** By path below the console, e.g. `index.html` and `assets/index-Bx3f.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

/** What the build produces. Other files are not served. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const HASHED = /^assets\/.+-[\w-]{8,}\.\w+$/;

/** The built console, read once and served from memory; undefined when it was not built. */
export async function readConsoleFiles(folder: string): Promise<ConsoleFiles | undefined> {
  const names = await namesIn(folder);
  if (!names.includes('index.html')) return undefined;
  const files = new Map<string, ConsoleFile>();
  for (const name of names) {
    const contentType = TYPES[extname(name)];
    if (contentType === undefined) continue;
    files.set(name, { contentType, immutable: HASHED.test(name), codings: await codingsOf(folder, name, names) });
  }
  return files;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, '/').length).replaceAll('\\', '/'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function codingsOf(folder: string, name: string, names: readonly string[]): Promise<CodedBytes[]> {
  const read = async (coding: Coding, suffix: string): Promise<CodedBytes> => ({
    coding,
    ...tagged(await readFile(join(folder, `${name}${suffix}`)), 'sha256'),
  });
  const coded = CODINGS.filter(({ suffix }) => names.includes(`${name}${suffix}`));
  return Promise.all([...coded.map(({ name: coding, suffix }) => read(coding, suffix)), read('identity', '')]);
}

/** A document that is generated when the server starts, e.g. the settings of the page. */
export const generatedFile = (contentType: string, text: string): ConsoleFile => ({
  contentType,
  immutable: false,
  codings: [{ coding: 'identity', ...tagged(Buffer.from(text), 'sha256') }],
});
