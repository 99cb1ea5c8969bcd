import { X509Certificate } from 'node:crypto';
import { isIP, readNetwork } from '../../lib/network.ts';
import { type AddressRules, createAddressRules } from '../address-rules.ts';
import { checkEach, type FieldError, forbiddenField, invalidValue, required } from '../field-error.ts';
import type { ApiEndpoints, ServerEndpoint } from './cluster.ts';

/** What cannot be said of an object alone. */
export interface EndpointChecks {
  readonly rules: AddressRules;
  readonly now: () => number;
  /** Whether the desk itself listens there. */
  readonly isOwnListener?: (address: string, port: number) => boolean;
}

export const DEFAULT_CHECKS: EndpointChecks = { rules: createAddressRules(), now: Date.now };

const ADDRESS = /^https:\/\/([\x21-\x7e]+)$/;

/**
 * What is stored already is not held against whoever changes something else: rules and clocks move on, and a
 * label or a status must stay changeable. A credential is sent nowhere without a look at the address anyway.
 */
export function validateEndpoints(
  endpoints: ApiEndpoints,
  old: ApiEndpoints | undefined,
  at: string,
  checks: EndpointChecks,
): FieldError[] {
  const known = new Set(old?.serverEndpoints?.map(({ serverAddress }) => serverAddress));
  const errors = checkEach(endpoints.serverEndpoints ?? [], (endpoint, index) =>
    validateEndpoint(endpoint, `${at}.serverEndpoints[${index}]`, checks, known),
  );
  const { caBundle = '' } = endpoints;
  const bundle = caBundle === old?.caBundle ? keyProblem(caBundle) : bundleProblem(caBundle, checks.now());
  if (bundle !== undefined) errors.push(forbiddenField(`${at}.caBundle`, bundle));
  return errors;
}

function validateEndpoint(
  { serverAddress: address = '', clientCIDR: cidr = '' }: ServerEndpoint,
  here: string,
  checks: EndpointChecks,
  known: ReadonlySet<string | undefined>,
): FieldError[] {
  const errors: FieldError[] = [];
  if (address === '') errors.push(required(`${here}.serverAddress`));
  else if (address.includes('@')) {
    // Not quoted in the answer, which may end up in a log.
    errors.push(forbiddenField(`${here}.serverAddress`, 'must not contain credentials'));
  } else if (!isPlainAddress(address)) {
    const url = URL.parse(address);
    const problem =
      addressProblem(address, url) ?? (url === null || known.has(address) ? undefined : hostProblem(url, checks));
    if (problem !== undefined) errors.push(invalidValue(`${here}.serverAddress`, address, problem));
  }
  if (cidr !== '' && readNetwork(cidr) === undefined) {
    errors.push(invalidValue(`${here}.clientCIDR`, cidr, 'must be a network in CIDR form, e.g. 10.0.0.0/8 or ::/0'));
  }
  return errors;
}

/**
 * The usual form, in which nothing can be wrong and which takes no parser to see: a name in lower case whose last label
 * begins with a letter, so that it is no address in disguise, and a port. Names in Punycode and those of this machine are
 * looked at more closely.
 */
export const isPlainAddress = (address: string): boolean =>
  address.length <= MAX_PLAIN_LENGTH && PLAIN.test(address) && !SPECIAL_NAME.test(address);

const MAX_PLAIN_LENGTH = 253;
const PLAIN = /^https:\/\/(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}))?\/?$/;
const SPECIAL_NAME = /xn--|localhost/;

/**
 * A URL that means exactly what it shows: no credentials, no path, and nothing the parser had to repair. It
 * reads `https://0x7f.1` as 127.0.0.1 and `https://h:06443` as port 6443; people and other parsers may not.
 */
function addressProblem(address: string, url: URL | null): string | undefined {
  if (address.length > 2048) return 'must be no more than 2048 bytes';
  const authority = ADDRESS.exec(address)?.[1]?.replace(/\/$/, '').toLowerCase();
  if (authority === undefined || url === null) {
    return 'must be an https URL with a host and an optional port, e.g. https://10.0.0.1:6443';
  }
  if (url.pathname !== '/' || /[/?#\\]/.test(authority)) return 'must not have a path, query or fragment';
  if (url.port === '0') return 'must not use port 0';
  if (url.hostname.length > 253) return 'must have a host of no more than 253 bytes';
  if (authority !== url.host && authority !== `${url.host}:443`) {
    return `must be written as it is understood, as https://${url.host}`;
  }
  return undefined;
}

/** Of names only those that always mean this machine (RFC 6761 section 6.3); the others are looked at when used. */
function hostProblem({ hostname, port }: URL, { rules, isOwnListener }: EndpointChecks): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '');
  const isLocal = /(?:^|\.)localhost\.?$/.test(host);
  if (!isLocal && isIP(host) === 0) return undefined;
  const ip = isLocal ? '127.0.0.1' : host;
  if (isOwnListener?.(ip, port === '' ? 443 : Number(port)) === true)
    return 'must not be the address of the desk itself';
  const refusal = rules.refusal(ip);
  return refusal === undefined
    ? undefined
    : `must be an address that the desk connects to: ${refusal}, and the desk was not started with --allow-upstream-cidr for it`;
}

const decoded = (caBundle: string): string => Buffer.from(caBundle, 'base64').toString('latin1');

const KEY_MARK = 'PRIVATE KEY-----';

/**
 * What the mark looks like in base64, in each of the three ways in which its bytes can fall into groups: the digits that
 * no neighbour has a part in. Looked for first, because to decode a bundle takes longer than all of these.
 */
const ENCODED_MARKS = [0, 1, 2].map((shift) =>
  Buffer.from(`${'.'.repeat(shift)}${KEY_MARK}`)
    .toString('base64')
    .slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + KEY_MARK.length) * 8) / 6)),
);

/** Every caller sees the bundle, so the usual mistake with PEM files must not get that far, nor stay. */
const keyProblem = (caBundle: string): string | undefined =>
  ENCODED_MARKS.some((mark) => caBundle.includes(mark)) && decoded(caBundle).includes(KEY_MARK)
    ? 'must hold certificates only, and there is a private key in it'
    : undefined;

/** Reading a certificate takes time, and there is room for thousands in a request. */
const MAX_CERTIFICATES = 64;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/** What a bundle says whenever it is read. */
interface BundleFacts {
  readonly problem: string | undefined;
  /** When the last of its certificates ends (epoch milliseconds). */
  readonly endsAt: number;
}

/** Many clusters of a fleet have one authority, and to read it takes as long as the rest of a cluster. */
const MAX_KNOWN = 64;
const MAX_KNOWN_LENGTH = 16 * 1024;
const knownBundles = new Map<string, BundleFacts>();

function bundleProblem(caBundle: string, now: number): string | undefined {
  if (caBundle === '') return undefined;
  const facts = knownBundles.get(caBundle) ?? readBundle(caBundle);
  if (caBundle.length <= MAX_KNOWN_LENGTH) remember(caBundle, facts);
  return facts.problem ?? (facts.endsAt < now ? 'every certificate in it has expired' : undefined);
}

function remember(caBundle: string, facts: BundleFacts): void {
  knownBundles.delete(caBundle);
  knownBundles.set(caBundle, facts);
  if (knownBundles.size <= MAX_KNOWN) return;
  const [oldest] = knownBundles.keys();
  if (oldest !== undefined) knownBundles.delete(oldest);
}

function readBundle(caBundle: string): BundleFacts {
  const refused = (problem: string): BundleFacts => ({ problem, endsAt: 0 });
  const key = keyProblem(caBundle);
  if (key !== undefined) return refused(key);
  const texts = decoded(caBundle).match(CERTIFICATE) ?? [];
  if (texts.length === 0) return refused('must hold certificates in PEM form, and there is none in it');
  if (texts.length > MAX_CERTIFICATES) return refused(`must hold at most ${MAX_CERTIFICATES} certificates`);
  const certificates = texts.map(readCertificate);
  const unreadable = certificates.indexOf(undefined);
  if (unreadable !== -1) return refused(`certificate ${unreadable + 1} in it cannot be read`);
  const leaf = certificates.findIndex((certificate) => certificate?.ca !== true);
  if (leaf !== -1) return refused(`certificate ${leaf + 1} in it is not that of an authority`);
  // One that has expired may stay beside its successor.
  return { problem: undefined, endsAt: Math.max(...certificates.map((each) => each?.validToDate.getTime() ?? 0)) };
}

function readCertificate(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}
