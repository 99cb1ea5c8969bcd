import type { User } from '../../api/caller.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { badRequest } from '../../api/status.ts';
import { unescaped, utf8Text } from '../../lib/text.ts';
import type { HeaderLine } from './header-checks.ts';

const USER = 'impersonate-user';
const UID = 'impersonate-uid';
const GROUP = 'impersonate-group';
const EXTRA = 'impersonate-extra-';

/**
 * The user that the `Impersonate-*` headers name, as sent; undefined when they name none (IMP-12). As in kube-apiserver
 * the first of two user names counts (IMP-19). Unlike there, a header that is not known is an error: without it the
 * request would run with other permissions than were meant.
 */
export function readImpersonation(lines: readonly HeaderLine[]): User | undefined {
  let name: string | undefined;
  let uid: string | undefined;
  const groups: string[] = [];
  const extra = new Map<string, string[]>();
  for (const line of lines) {
    const value = decodeValue(line);
    if (line.name === USER) name ??= value;
    else if (line.name === UID) uid ??= value;
    else if (line.name === GROUP) groups.push(value);
    else if (line.name.startsWith(EXTRA)) {
      const key = decodeKey(line.name.slice(EXTRA.length));
      const values = extra.get(key);
      if (values === undefined) extra.set(key, [value]);
      else values.push(value);
    } else {
      throw badRequest(
        `unknown header ${goQuote(line.name)}: use Impersonate-User, Impersonate-Group, Impersonate-Uid or Impersonate-Extra-KEY`,
      );
    }
  }
  const user: User = { name: name ?? '', uid: uid ?? '', groups, extra: Object.fromEntries(extra) };
  if (user.name !== '') return user;
  if (user.uid === '' && groups.length === 0 && extra.size === 0) return undefined;
  throw badRequest(`requested ${goText(user)} without impersonating a user name`);
}

/** Node decodes header bytes as Latin-1; clients write names in UTF-8. */
function decodeValue({ name, value }: HeaderLine): string {
  const text = utf8Text(Buffer.from(value, 'latin1'));
  if (text === undefined) throw badRequest(`the header ${goQuote(name)} must be valid UTF-8`);
  return text;
}

/** IMP-17. A key with a broken escape is kept as it is. */
const decodeKey = (key: string): string => unescaped(key) ?? key;

/** The user as Go prints the struct: kube-apiserver's message has it (IMP-05, IMP-11). */
function goText({ name, uid, groups, extra }: User): string {
  const entries = Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1));
  const map = entries.map(([key, values]) => `${goQuote(key)}:${goStrings(values)}`).join(', ');
  const extraText = entries.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${map}}`;
  const groupsText = groups.length === 0 ? '[]string(nil)' : goStrings(groups);
  return `&user.DefaultInfo{Name:${goQuote(name)}, UID:${goQuote(uid)}, Groups:${groupsText}, Extra:${extraText}}`;
}

const goStrings = (values: readonly string[]): string => `[]string{${values.map(goQuote).join(', ')}}`;
