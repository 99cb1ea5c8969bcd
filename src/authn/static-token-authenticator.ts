import { AGENT_PREFIX, type Caller, type User } from '../api/caller.ts';
import { type FollowParts, followFiles, GONE_GRACE_MS } from '../lib/follow-files.ts';
import { readMountedSecret, UnreadableFile, UnsafeFile } from '../lib/secret-file.ts';
import type { Work } from '../lib/work-queue.ts';
import { Secret } from '../observability/secret.ts';
import { plainCaller, type TokenAuthenticator, withAuthenticated } from './token-authenticator.ts';

/**
 * kube-apiserver's `--token-auth-file`: `token,user,uid,"group1,group2"`. Unlike there the file is read again when it
 * changes, so a token is withdrawn without a restart. It is refused if other users can read it.
 */
export interface StaticTokenAuthenticator extends TokenAuthenticator {
  /** Reads the file if it has changed. A bad file is reported, and the table in force stays for a minute. */
  refresh(): Promise<void>;
  /** Whether the file is gone or invalid, so that its tokens are refused. */
  isGone(): boolean;
  /** How many lines of the file have a mistake, so that their tokens are refused. */
  refusedLines(): number;
  close(): void;
}

interface StaticTokenParts extends FollowParts {
  readonly file: string;
  readonly work: Work;
}

/** The file cannot be used. The message is a sentence for the operator, and holds no token. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
}

/** Rejects when nothing in the file can be used. A line with a mistake is left out and reported, as at a reload. */
export async function openStaticTokenAuthenticator(parts: StaticTokenParts): Promise<StaticTokenAuthenticator> {
  const { file } = parts;
  const read = async () => {
    const table = await load(parts);
    const callers = table && Array.from(table.users, ([digest, user]) => [digest, callerOf(digest, user)] as const);
    return callers && { callers: new Map(callers), refused: table.refused };
  };
  const whenGone = { value: { callers: new Map<string, Caller>(), refused: 0 }, graceMs: GONE_GRACE_MS };
  const followed = await followFiles({ ...parts, what: `--token-auth-file ${file}`, files: [file], read, whenGone });

  /** Live while the file gives the token the same user: after a change of its groups the token is another caller. */
  function callerOf(digest: string, user: User): Caller {
    const caller: Caller = plainCaller(user, () => followed.current().callers.get(digest)?.key === caller.key);
    return caller;
  }

  return {
    authenticateToken: (token) => followed.current().callers.get(token.digest()),
    refresh: followed.refresh,
    isGone: followed.isGone,
    refusedLines: () => followed.current().refused,
    close: followed.close,
  };
}

interface UserTable {
  /** By the digest of their token. */
  readonly users: ReadonlyMap<string, User>;
  /** How many lines were left out. */
  readonly refused: number;
}

/** The limit of `parseTokenTable`, if each character has four bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Undefined when the file does not exist or cannot be opened. */
async function load({ file, report, work }: StaticTokenParts): Promise<UserTable | undefined> {
  let text: string;
  try {
    const content = await readMountedSecret(file, MAX_BYTES);
    if (content === undefined) return undefined;
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch (error) {
    if (error instanceof UnreadableFile) return undefined;
    if (error instanceof UnsafeFile) throw new TokenFileError(`--token-auth-file: ${error.message}`);
    throw new TokenFileError(`--token-auth-file ${file} cannot be read as UTF-8 text`);
  }
  const problems: string[] = [];
  const table = await parseTokenTable(text, (problem) => problems.push(`--token-auth-file ${file}, ${problem}`), work);
  // Without one usable line it is probably another file.
  if (table.users.size === 0 && table.refused > 0) throw new TokenFileError(problems[0]);
  for (const problem of problems) report(problem);
  if (table.users.size === 0) report(`--token-auth-file ${file} has no tokens: every static token is refused`);
  return table;
}

/** In characters: room for 50,000 tokens. */
const MAX_TABLE_LENGTH = 4 * 1024 * 1024;
/** For one read of the file. */
const MAX_WARNINGS = 20;

/**
 * `warn` is called for lines that are left out, and for those that are probably mistakes. A mistake refuses the token
 * of its line, also if an earlier line has it: it never gives a token to another user.
 */
export async function parseTokenTable(text: string, warn: (problem: string) => void, work: Work): Promise<UserTable> {
  if (text.length > MAX_TABLE_LENGTH) {
    throw new TokenFileError(`--token-auth-file has more than ${MAX_TABLE_LENGTH} characters`);
  }
  const users = new Map<string, User>();
  let warnings = 0;
  let refused = 0;
  const mistake = (problem: string): void => {
    if (++warnings <= MAX_WARNINGS) warn(problem);
  };
  for (let [at, line] = [0, 1]; at < text.length; line += 1) {
    if (work.isUsedUp) await work.turn();
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline;
    const written = text.slice(at, end).replace(/\r$/, '');
    at = end + 1;
    if (written === '') continue;
    const record = readCsv(written);
    const { fields } = record;
    const [token = '', name = '', uid = '', groups = ''] = fields;
    const digest = new Secret(token).digest();
    const problem = record.problem ?? problemOf(fields);
    if (problem !== undefined) {
      mistake(`line ${line}: ${problem}; the line is left out`);
      refused += 1;
      users.delete(digest);
      continue;
    }
    if (fields.length > 4) {
      mistake(`line ${line}: only the first 4 columns count; write several groups in one, quoted: "a,b"`);
    }
    if (users.has(digest)) mistake(`line ${line}: duplicate token; this line replaces the earlier one`);
    const named = groups.split(',').filter((group) => group !== '');
    users.set(digest, { name, uid, groups: withAuthenticated(named), extra: {} });
  }
  if (warnings > MAX_WARNINGS) warn(`and ${warnings - MAX_WARNINGS} more lines that are probably mistakes`);
  return { users, refused };
}

function problemOf(fields: readonly string[]): string | undefined {
  const [token, name, uid] = fields;
  if (uid === undefined) return `needs at least 3 columns (token, user name, user uid), found ${fields.length}`;
  if (token === '') return 'the token is empty';
  if (name === '') return 'the user name is empty';
  return name?.startsWith(AGENT_PREFIX) === true
    ? `the user name starts with ${AGENT_PREFIX}, which is reserved`
    : undefined;
}

/** Far above any real line. */
const MAX_LINE_LENGTH = 64 * 1024;
/** A field of RFC 4180, quoted or bare, and what ends it. */
const FIELD = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

/** The fields of a line. If it has a mistake, those before the mistake; the content is never quoted. */
export function readCsv(line: string): { readonly fields: readonly string[]; readonly problem?: string } {
  if (line.length > MAX_LINE_LENGTH) return { fields: [], problem: `more than ${MAX_LINE_LENGTH} characters` };
  const fields: string[] = [];
  for (FIELD.lastIndex = 0; ; ) {
    const [, quoted, bare = '', end] = FIELD.exec(line) ?? [];
    if (end === undefined) return { fields, problem: 'a quote is not closed, or text is beside a quoted field' };
    fields.push(quoted?.replaceAll('""', '"') ?? bare);
    if (end === '') return { fields };
  }
}
