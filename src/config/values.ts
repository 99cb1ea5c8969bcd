import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { isDns1123Label, isQualifiedName, isValidLabelValue } from '../api/names.ts';
import type { SignerAddress } from '../api/signer-address.ts';
import { JWS_ALGORITHMS, type JwsAlgorithm } from '../lib/jws-algorithms.ts';
import { BlockList, isIP, isIPv6, type Network, readNetwork } from '../lib/network.ts';
import { hasControl } from '../lib/text.ts';
import { parseDuration } from './duration.ts';

/** An invalid value. The message says what is expected; the loader adds the flag, variable or key. */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

/** What a parser may need besides the text: relative paths start at the working directory. */
export interface ParseContext {
  readonly cwd: string;
}

export interface Parse<T> {
  (text: string, context: ParseContext): T;
  /** Stands for the value in help and reference. */
  readonly placeholder?: string;
}

export interface ListenAddress {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
}

export function boolean(text: string): boolean {
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw new ValueError('expected true or false');
}

export function integer(min: number, max: number): Parse<number> {
  const parse = (text: string): number => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new ValueError(`expected a whole number from ${min} to ${max}`);
  };
  return Object.assign(parse, { placeholder: 'N' });
}

export function oneOf<const T extends string>(...allowed: readonly T[]): Parse<T> {
  return (text) => {
    const found = allowed.find((value) => value === text);
    if (found !== undefined) return found;
    throw new ValueError(`expected ${allowed.slice(0, -1).join(', ')} or ${allowed.at(-1)}`);
  };
}

/** A Go duration between two others, in milliseconds. With `orNever` it may be 0, too. */
export function duration(min: string, max: string, { orNever = false } = {}): Parse<number> {
  const [least = 0, most = 0] = [parseDuration(min), parseDuration(max)];
  const otherwise = orNever ? ', or 0 for never' : '';
  const parse = (text: string): number => {
    const value = parseDuration(text);
    if (orNever && value === 0) return value;
    if (value === undefined) throw new ValueError(`expected a duration such as 24h, 5m, 90s or 1h30m${otherwise}`);
    if (value < least || value > most) throw new ValueError(`expected a duration from ${min} to ${max}${otherwise}`);
    return value;
  };
  return Object.assign(parse, { placeholder: 'DURATION' });
}

/** Several values, separated by commas. */
export const listOf =
  <T>(parse: Parse<T>): Parse<readonly T[]> =>
  (text, context) =>
    text.split(',').map((one) => parse(one.trim(), context));

/** A short text without control characters. */
export function word(text: string): string {
  if (!/^[^\p{Cc}]{1,256}$/u.test(text))
    throw new ValueError('expected 1 to 256 characters without control characters');
  return text;
}

export function path(text: string, { cwd }: ParseContext): string {
  if (text === '' || text.includes('\0')) throw new ValueError('expected a path');
  return resolve(cwd, text);
}

/** The path of an existing file or folder. A file may be a pipe, as in `<(command)`. */
export function existing(what: 'file' | 'folder' | 'file or folder'): Parse<string> {
  const parse = (text: string, context: ParseContext): string => {
    const full = path(text, context);
    const stats = statSync(full, { throwIfNoEntry: false });
    if (stats === undefined) throw new ValueError(`there is no such ${what}`);
    if (what === 'folder' && !stats.isDirectory()) throw new ValueError('expected a folder, and this is a file');
    if (what === 'file' && stats.isDirectory()) throw new ValueError('expected a file, and this is a folder');
    return full;
  };
  return Object.assign(parse, { placeholder: 'FILE' });
}

export function network(cidr: string): Network {
  const found = readNetwork(cidr);
  if (found === undefined) throw new ValueError('expected a network in CIDR form, such as 127.0.0.0/8 or ::1/128');
  return found;
}

export interface InventoryNamespace {
  readonly name: string;
  /** The label selector of its clusters; `""` for all. It is parsed where labels are compared. */
  readonly selector: string;
}

/** `NAME[=SELECTOR]`, several separated by semicolons: selectors contain commas. */
export function inventoryNamespaces(text: string): readonly InventoryNamespace[] {
  const namespaces = text.split(';').map((one) => {
    const [name = '', ...selector] = one.trim().split('=');
    if (isDns1123Label(name).length > 0) {
      throw new ValueError('expected NAME or NAME=SELECTOR with the name of a namespace, such as prod=env=prod');
    }
    return { name, selector: selector.join('=') };
  });
  const names = namespaces.map(({ name }) => name);
  if (new Set(names).size < names.length) throw new ValueError('expected each namespace once');
  return namespaces;
}

export function labelValue(text: string): string {
  if (text === '' || isValidLabelValue(text).length > 0)
    throw new ValueError('expected a label value, such as fleet-1');
  return text;
}

const MAX_PROPERTY_NAME = 253;

export function labelKey(text: string): string {
  if (text.length <= MAX_PROPERTY_NAME && isQualifiedName(text).length === 0) return text;
  throw new ValueError(
    `expected keys of labels with at most ${MAX_PROPERTY_NAME} characters, such as env or example.com/region`,
  );
}

const HOST_NAME =
  /^(?=.{1,253}$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** The host in the canonical form of the URL standard: `127.1`, `0x7f.1` and `2130706433` become `127.0.0.1`. */
function canonicalHost(host: string): string | undefined {
  const url = `http://${isIPv6(host) ? `[${host}]` : host}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** A name, or an IPv4 address in the one form that cannot be mistaken for a name. */
function isHost(host: string): boolean {
  return HOST_NAME.test(host) && canonicalHost(host) === host.toLowerCase();
}

export function listenAddress(text: string): ListenAddress {
  const match = /^(?:\[([^[\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const [, bracketed, plain, digits] = match ?? [];
  const port = Number(digits);
  const validHost = bracketed === undefined ? isHost(plain ?? '') : isIPv6(bracketed) && !bracketed.includes('%');
  if (!validHost || port > 65_535)
    throw new ValueError('expected HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:443');
  return { host: bracketed ?? plain ?? '', port };
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * Whether only this machine can reach the address. A name other than localhost does not count, whatever it
 * resolves to now: it may resolve to something else at the next start.
 */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === 'localhost';
  return LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

/** Whether the address means "every address of this machine", and so names none. */
export function isWildcard(host: string): boolean {
  return ['0.0.0.0', '[::]', '[::ffff:0:0]'].includes(canonicalHost(host) ?? '');
}

export function defaultBaseUrl({ host, port }: ListenAddress, scheme: 'http' | 'https'): string {
  // URL drops a default port and writes names and addresses in their one canonical form.
  return new URL(`${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`).origin;
}

/**
 * Issuers are compared byte by byte wherever a token is checked, so there must be one way to write the address:
 * the one the URL standard gives it, without a trailing slash.
 */
export function baseUrl(text: string): string {
  const shape = 'expected an address such as https://clusterpass.example.com or http://127.0.0.1:8080';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw new ValueError(shape);
  if (url.username !== '' || url.password !== '') throw new ValueError(`${shape}, without a user or a password`);
  if (/[?#]/.test(text)) throw new ValueError(`${shape}, without a query or a fragment`);
  const canonical = url.href.replace(/\/+$/, '');
  if (canonical !== text) throw new ValueError(`expected it written as ${canonical}`);
  return text;
}

/** Not normalized: issuers are compared byte by byte, and some end in a slash. */
export function issuerUrl(text: string): string {
  const shape = 'expected an https address such as https://id.example.com';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') throw new ValueError(shape);
  if (url.username !== '' || url.password !== '') throw new ValueError(`${shape}, without a user or a password`);
  if (/[?#\s]/.test(text)) throw new ValueError(`${shape}, without a query or a fragment`);
  return text;
}

/** An origin of web pages (RFC 6454), as browsers write it in the header `Origin`. */
export function origin(text: string): string {
  const match = /^([a-z][a-z0-9+.-]*):\/\/[^/\s?#@]+$/.exec(text);
  if (match === null) throw new ValueError('expected an origin such as https://agent.example.com, without a path');
  // Browsers leave out a default port and write hosts in lower case. Other schemes are compared as they are.
  const isWeb = match[1] === 'https' || match[1] === 'http';
  if (isWeb && (!URL.canParse(text) || new URL(text).origin !== text)) {
    throw new ValueError('expected it as browsers write it: lower case, without a default port');
  }
  return text;
}

/** First path segments the server uses itself, now or in kube-apiserver, whose clients may ask for them. */
const TAKEN = new Set(
  'api apis auth openid openapi version healthz livez readyz metrics mcp oauth console assets static logs debug swagger'.split(
    ' ',
  ),
);

export function productName(text: string): string {
  if (!/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text)) {
    throw new ValueError(
      'expected a word of at most 63 lowercase letters, digits and inner hyphens (a DNS-1123 label)',
    );
  }
  if (TAKEN.has(text))
    throw new ValueError(`expected a word that is not the start of another path (${[...TAKEN].join(', ')})`);
  return text;
}

export const signingAlgorithm = oneOf(...JWS_ALGORITHMS);

/** The bound of an audience in a TokenRequest. */
const MAX_AUDIENCE_CHARACTERS = 1024;

/** `AUDIENCE=ALGORITHM`, separated by commas. An audience may contain `=`. */
export function algorithmsByAudience(text: string): ReadonlyMap<string, JwsAlgorithm> {
  const found = new Map<string, JwsAlgorithm>();
  for (const part of text.split(',').map((one) => one.trim())) {
    const at = part.lastIndexOf('=');
    const [audience, name] = [part.slice(0, Math.max(at, 0)), part.slice(at + 1)];
    const algorithm = JWS_ALGORITHMS.find((one) => one === name);
    if (audience === '' || algorithm === undefined) {
      const algorithms = JWS_ALGORITHMS.join(', ');
      throw new ValueError(
        `expected AUDIENCE=ALGORITHM, such as api://AzureADTokenExchange=RS256, with one of ${algorithms}; an audience with a comma cannot be given`,
      );
    }
    if (audience.length > MAX_AUDIENCE_CHARACTERS || hasControl(audience)) {
      throw new ValueError(
        `expected audiences of at most ${MAX_AUDIENCE_CHARACTERS} characters, none of them a control character`,
      );
    }
    if ((found.get(audience) ?? algorithm) !== algorithm) {
      throw new ValueError(`expected one algorithm for the audience ${JSON.stringify(audience)}`);
    }
    found.set(audience, algorithm);
  }
  return found;
}

/** A program is named by its absolute path: which one runs must not depend on PATH. */
export function externalSigner(text: string, context: ParseContext): SignerAddress {
  const [, scheme, rest = ''] = /^(unix|exec):(.*)$/s.exec(text) ?? [];
  if (scheme === 'unix') return { type: 'unix', path: path(rest, context) };
  const [command = '', ...args] = rest.split(/\s+/).filter((word) => word !== '');
  if (scheme === 'exec' && isAbsolute(command)) return { type: 'exec', command: path(command, context), args };
  throw new ValueError('expected unix:PATH, or exec: and the full path of a program, with arguments');
}

/** The number of processes; `auto` for one per CPU. */
export function workers(text: string): number {
  if (text === 'auto') return availableParallelism();
  try {
    return integer(1, 64)(text, { cwd: '' });
  } catch {
    throw new ValueError('expected a whole number from 1 to 64, or auto for one per CPU');
  }
}
