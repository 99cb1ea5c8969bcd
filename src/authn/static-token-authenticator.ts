import { AGENT_PREFIX, type Caller, type User } from '../api/caller.ts';
import { type FollowParts, followFiles, GONE_GRACE_MS } from '../lib/follow-files.ts';
import { readMountedSecret, UnreadableFile, UnsafeFile } from '../lib/secret-file.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import { Secret } from '../observability/secret.ts';
import { CsvError, parseCsv } from './csv.ts';
import { plainCaller, withAuthenticated } from './plain-caller.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

/**
 * kube-apiserver's `--token-auth-file`: `token,user,uid,"group1,group2"`. Unlike there the file is read again when it
 * changes, so a token is withdrawn without a restart. It is refused if other users can read it.
 */
interface StaticTokenAuthenticator extends TokenAuthenticator {
  /** Reads the file if it has changed. A bad file is reported, and the table in force stays for a minute. */
  refresh(): Promise<void>;
  /** Whether the file is gone or invalid, so that its tokens are refused. */
  isGone(): boolean;
  close(): void;
}

interface StaticTokenParts extends FollowParts {
  readonly file: string;
}

/** The file cannot be used. The message is a sentence for the operator, and holds no token. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
}

/** Rejects when the file cannot be used: a server must not start with fewer tokens than it was given. */
export async function openStaticTokenAuthenticator(parts: StaticTokenParts): Promise<StaticTokenAuthenticator> {
  const { file, report } = parts;
  const read = async (): Promise<ReadonlyMap<string, Caller> | undefined> => {
    const users = await load(file, report);
    return users && new Map(Array.from(users, ([digest, user]) => [digest, callerOf(digest, user)]));
  };
  const whenGone = { value: new Map<string, Caller>(), graceMs: GONE_GRACE_MS };
  const followed = await followFiles({ ...parts, what: `--token-auth-file ${file}`, files: [file], read, whenGone });

  /** Live while the file gives the token the same user: after a change of its groups the token is another caller. */
  function callerOf(digest: string, user: User): Caller {
    const caller: Caller = plainCaller(user, () => followed.current().get(digest)?.key === caller.key);
    return caller;
  }

  return {
    authenticateToken: (token) => followed.current().get(token.digest()),
    refresh: followed.refresh,
    isGone: followed.isGone,
    close: followed.close,
  };
}

/** Users by the digest of their token. */
type UserTable = ReadonlyMap<string, User>;

/** The limit of `parseTokenTable`, if each character has four bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Undefined when the file does not exist or cannot be opened. */
async function load(file: string, report: (problem: string) => void): Promise<UserTable | undefined> {
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
  try {
    const table = await parseTokenTable(text, (problem) => report(`--token-auth-file ${file}, ${problem}`));
    if (table.size === 0) report(`--token-auth-file ${file} has no tokens: every static token is refused`);
    return table;
  } catch (error) {
    if (error instanceof CsvError) throw new TokenFileError(`--token-auth-file ${file}, ${error.message}`);
    throw error;
  }
}

/** In characters: room for 50,000 tokens. */
const MAX_TABLE_LENGTH = 4 * 1024 * 1024;
/** For one read of the file. */
const MAX_WARNINGS = 20;

/** Rejects with CsvError. `warn` is called for lines that are probably mistakes. Yields to the event loop. */
export async function parseTokenTable(text: string, warn: (problem: string) => void): Promise<UserTable> {
  if (text.length > MAX_TABLE_LENGTH) throw new CsvError(1, `the file has more than ${MAX_TABLE_LENGTH} characters`);
  const table = new Map<string, User>();
  const slice = new TimeSlice();
  let warnings = 0;
  const mistake = (problem: string): void => {
    if (++warnings <= MAX_WARNINGS) warn(problem);
  };
  for (const { line, fields } of parseCsv(text)) {
    if (slice.isUsedUp) await slice.next();
    const [token, name, uid, groups = ''] = fields;
    if (token === undefined || name === undefined || uid === undefined) {
      throw new CsvError(line, `needs at least 3 columns (token, user name, user uid), found ${fields.length}`);
    }
    if (token === '') throw new CsvError(line, 'the token is empty');
    if (name === '') throw new CsvError(line, 'the user name is empty');
    if (name.startsWith(AGENT_PREFIX))
      throw new CsvError(line, `the user name starts with ${AGENT_PREFIX}, which is reserved`);
    if (fields.length > 4) {
      mistake(`line ${line}: only the first 4 columns count; write several groups in one, quoted: "a,b"`);
    }
    const digest = new Secret(token).digest();
    if (table.has(digest)) mistake(`line ${line}: duplicate token; this line replaces the earlier one`);
    const named = groups.split(',').filter((group) => group !== '');
    table.set(digest, { name, uid, groups: withAuthenticated(named), extra: {} });
  }
  if (warnings > MAX_WARNINGS) warn(`and ${warnings - MAX_WARNINGS} more lines that are probably mistakes`);
  return table;
}
