import { readFile } from 'node:fs/promises';
import type { Caller, User } from '../api/caller.ts';
import { openWatchedFile, type WatchParts } from '../lib/watched-file.ts';
import { Secret } from '../observability/secret.ts';
import { CsvError, parseCsv } from './csv.ts';
import { plainCaller, userKey, withAuthenticated } from './plain-caller.ts';
import type { TokenSource } from './token-authenticator.ts';

/**
 * kube-apiserver's `--token-auth-file`: `token,user,uid,"group1,group2"`. Unlike there it is read again when it
 * changes, so a token is taken back without a restart.
 */
export interface StaticTokens extends TokenSource {
  /** Reads the file if it has changed. A bad file is reported and the table in force stays. */
  refresh(): Promise<void>;
  close(): void;
}

export interface StaticTokenParts extends Pick<WatchParts, 'every' | 'report'> {
  readonly file: string;
}

/** The file can not be used. The message is a sentence for the operator, and holds no token. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
}

type Table = ReadonlyMap<string, User>;

/** Rejects when the file can not be used: a server must not start with fewer tokens than it was given. */
export async function openStaticTokens({ file, every, report }: StaticTokenParts): Promise<StaticTokens> {
  const watched = await openWatchedFile({ file, read: () => load(file, report), every, report });
  // One for each row of the table: what is worked out for a caller is remembered by who knows it as an object.
  const callers = new WeakMap<User, Caller>();
  // Live as long as the file gives this token the very same user: a changed group is another caller.
  const callerOf = (user: User, digest: string): Caller =>
    plainCaller(user, () => {
      const current = watched.current().get(digest);
      if (current === undefined || current === user) return current === user;
      return JSON.stringify(userKey(current)) === JSON.stringify(userKey(user));
    });

  return {
    find(token): Caller | undefined {
      const digest = token.digest();
      const user = watched.current().get(digest);
      if (user === undefined) return undefined;
      let caller = callers.get(user);
      if (caller === undefined) {
        caller = callerOf(user, digest);
        callers.set(user, caller);
      }
      return caller;
    },
    refresh: watched.refresh,
    close: watched.close,
  };
}

async function load(file: string, report: (problem: string) => void): Promise<Table> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch {
    throw new TokenFileError(`token file ${file} can not be read as UTF-8 text`);
  }
  try {
    return parseTokenTable(text, (problem) => report(`token file ${file}, ${problem}`));
  } catch (error) {
    if (error instanceof CsvError) throw new TokenFileError(`token file ${file}, ${error.message}`);
    throw error;
  }
}

/** Throws CsvError; `warn` gets what is odd but usable. */
export function parseTokenTable(text: string, warn: (problem: string) => void): Table {
  const table = new Map<string, User>();
  for (const { line, fields } of parseCsv(text)) {
    const [token, name, uid, groups = ''] = fields;
    if (token === undefined || name === undefined || uid === undefined) {
      throw new CsvError(line, `needs at least 3 columns (token, user name, user uid), found ${fields.length}`);
    }
    if (token === '') throw new CsvError(line, 'the token is empty');
    if (name === '') throw new CsvError(line, 'the user name is empty');
    if (fields.length > 4) {
      warn(`line ${line}: only the first 4 columns count; write several groups in one, quoted: "a,b"`);
    }
    const digest = new Secret(token).digest();
    if (table.has(digest)) warn(`line ${line}: the token occurs before, this line replaces it`);
    const named = groups.split(',').filter((group) => group !== '');
    table.set(digest, { name, uid, groups: withAuthenticated(named), extra: {} });
  }
  return table;
}
