import { X509Certificate } from 'node:crypto';
import { cached } from '../../lib/cache.ts';
import { isIP, readNetwork } from '../../lib/network.ts';
import { type AddressRules, createAddressRules } from '../clusters/address-rules.ts';
import { checkEach, type FieldError, forbiddenField, invalidValue, required } from '../status.ts';
import type { ApiEndpoints, ServerEndpoint } from './cluster-spec.ts';

/** What validation needs to know besides the object. */
export interface EndpointChecks {
  readonly rules: AddressRules;
  readonly now: () => number;
  /** Whether this server itself listens there. */
  readonly isOwnListener?: (address: string, port: number) => boolean;
  /** `--confirm-endpoints`: a change of the endpoints waits until it is confirmed. */
  readonly holdChanges?: boolean;
}

export const DEFAULT_CHECKS: EndpointChecks = { rules: createAddressRules(), now: Date.now };

export const MAX_ADDRESS_LENGTH = 2_048;
const ADDRESS = /^https:\/\/([\x21-\x7e]+)$/;

/**
 * Addresses and certificates that are stored already are accepted: address rules change and certificates expire, and a
 * label or the status of the cluster must stay writable. The address is checked again before a credential is sent to
 * it.
 */
export function validateEndpoints(
  endpoints: ApiEndpoints,
  old: readonly ApiEndpoints[],
  at: string,
  checks: EndpointChecks,
): FieldError[] {
  // Addresses whose host is not checked, or has been: one address often has an endpoint for IPv4 and one for IPv6.
  const known = new Set(
    old.flatMap(({ serverEndpoints = [] }) => serverEndpoints.map(({ serverAddress }) => serverAddress)),
  );
  const errors = checkEach(endpoints.serverEndpoints ?? [], (endpoint, index) => {
    const found = validateEndpoint(endpoint, `${at}.serverEndpoints[${index}]`, checks, known);
    known.add(endpoint.serverAddress);
    return found;
  });
  const { caBundle = '' } = endpoints;
  const isStored = old.some((one) => one.caBundle === caBundle);
  const bundle = isStored ? keyProblem(caBundle) : bundleProblem(caBundle, checks.now());
  // Not quoted: it is long, and may hold a private key.
  if (bundle !== undefined) errors.push(invalidValue(`${at}.caBundle`, `<${caBundle.length} characters>`, bundle));
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
    // Not quoted in the response, which may be logged.
    errors.push(forbiddenField(`${here}.serverAddress`, 'must not contain credentials'));
  } else {
    const url = parseAddress(address);
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
 * Only what can be valid: the parser takes a millisecond for a thousand characters of a host that are not ASCII, and a
 * cluster may have a hundred addresses.
 */
const parseAddress = (address: string): URL | null =>
  address.length <= MAX_ADDRESS_LENGTH && ADDRESS.test(address) ? URL.parse(address) : null;

/**
 * A URL with host and port only, written as the parser understands it. The parser reads `https://0x7f.1` as 127.0.0.1
 * and `https://h:06443` as port 6443; people and other parsers may not.
 */
function addressProblem(address: string, url: URL | null): string | undefined {
  if (address.length > MAX_ADDRESS_LENGTH) return `must be no more than ${MAX_ADDRESS_LENGTH} bytes`;
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

/**
 * Checks addresses, and the names that always mean this machine (RFC 6761 section 6.3). Other names are resolved and
 * checked when a connection is made.
 */
function hostProblem({ hostname, port }: URL, { rules, isOwnListener }: EndpointChecks): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '');
  const isLocal = /(?:^|\.)localhost\.?$/.test(host);
  if (!isLocal && isIP(host) === 0) return undefined;
  const ip = isLocal ? '127.0.0.1' : host;
  if (isOwnListener?.(ip, port === '' ? 443 : Number(port)) === true) return 'must not be the address of this server';
  const refusal = rules.refusal(ip);
  return refusal === undefined ? undefined : `must be an address that the server connects to: ${refusal}`;
}

const decoded = (caBundle: string): string => Buffer.from(caBundle, 'base64').toString('latin1');

/** Every caller sees the bundle: a private key in it, the usual mistake with PEM files, must not be stored nor stay. */
const keyProblem = (caBundle: string): string | undefined =>
  decoded(caBundle).includes('PRIVATE KEY-----')
    ? 'contains a private key, which every caller could read: send the CA certificates only'
    : undefined;

/** Parsing a certificate takes 20 us and more, and thousands fit into a request. */
const MAX_CERTIFICATES = 64;
/**
 * In base64: 256 KiB of PEM, 4 KiB for each certificate. Two megabytes of PEM that is no certificate took 100 ms, since
 * OpenSSL reads it line by line.
 */
export const MAX_BUNDLE_LENGTH = 349_528;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/** The certificates of a `caBundle`, each as PEM. */
export const certificateTexts = (caBundle: string): readonly string[] => decoded(caBundle).match(CERTIFICATE) ?? [];

/** What does not depend on the time. */
interface BundleFacts {
  readonly problem: string | undefined;
  /** When the last of its certificates expires (epoch milliseconds). */
  readonly expiresAt: number;
}

/**
 * Parsed bundles, by their text. Clusters of a fleet often share an authority, and parsing it takes as long as the rest
 * of the validation. At most 64 bundles of 16 KiB, least recently used out. A bundle's facts never change.
 */
const factsOf = cached(readBundle, { maxEntries: 64, maxKeyLength: 16 * 1024 });

/** When the last certificate of the bundle ends, in epoch milliseconds; Infinity without one that can be read. */
export const bundleEnd = ({ caBundle = '' }: ApiEndpoints): number =>
  factsOf(caBundle).expiresAt || Number.POSITIVE_INFINITY;

function bundleProblem(caBundle: string, now: number): string | undefined {
  if (caBundle === '') return undefined;
  const { problem, expiresAt } = factsOf(caBundle);
  return problem ?? (expiresAt < now ? 'every certificate has expired' : undefined);
}

function readBundle(caBundle: string): BundleFacts {
  const refused = (problem: string): BundleFacts => ({ problem, expiresAt: 0 });
  const key = keyProblem(caBundle);
  if (key !== undefined) return refused(key);
  const texts = certificateTexts(caBundle);
  if (texts.length === 0)
    return refused('contains no certificate: it must be a PEM file (-----BEGIN CERTIFICATE-----), in base64');
  if (texts.length > MAX_CERTIFICATES) return refused(`contains more than ${MAX_CERTIFICATES} certificates`);
  let expiresAt = 0;
  for (const [index, text] of texts.entries()) {
    const certificate = readCertificate(text);
    if (certificate === undefined) return refused(`certificate ${index + 1} cannot be read`);
    if (!certificate.ca) return refused(`certificate ${index + 1} is not a CA certificate`);
    // An expired certificate may stay beside its successor.
    expiresAt = Math.max(expiresAt, certificate.validToDate.getTime());
  }
  return { problem: undefined, expiresAt };
}

function readCertificate(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}
