import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';

/** Certificates for tests: the tests need no openssl, and the repository contains no key. */

export interface Pair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Authority extends Pair {
  issue(options: CertificateOptions): Authority;
}

export interface CertificateOptions {
  /** DNS names and IPv4 addresses. */
  readonly names?: readonly string[];
  readonly commonName?: string;
  readonly isAuthority?: boolean;
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly keyType?: 'ec' | 'rsa';
}

interface Issuer {
  readonly name: Buffer;
  readonly key: KeyObject;
}

const DAY_MS = 86_400_000;

export const selfSigned = (commonName: string, options: CertificateOptions = {}): Pair =>
  make({ commonName, ...options }, undefined).pair;

export const createAuthority = (commonName: string, options: CertificateOptions = {}): Authority =>
  issuing({ commonName, isAuthority: true, ...options }, undefined);

function issuing(options: CertificateOptions, issuer: Issuer | undefined): Authority {
  const { pair, name, key } = make(options, issuer);
  return { ...pair, issue: (asked) => issuing(asked, { name, key }) };
}

function make(options: CertificateOptions, issuer: Issuer | undefined) {
  const { names = [], commonName = names[0] ?? 'test', isAuthority = false } = options;
  const { notAfter = Date.now() + DAY_MS } = options;
  const { notBefore = Math.min(Date.now(), notAfter) - DAY_MS } = options;
  const { publicKey, privateKey } =
    options.keyType === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const signingKey = issuer?.key ?? privateKey;
  const algorithm = signingKey.asymmetricKeyType === 'rsa' ? RSA_SHA256 : ECDSA_SHA256;
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(commonName)))));
  const extensions = [
    ...(isAuthority ? [sequence(BASIC_CONSTRAINTS, der(0x04, sequence(der(0x01, Buffer.from([0xff])))))] : []),
    ...(names.length === 0 ? [] : [sequence(ALTERNATIVE_NAME, der(0x04, sequence(...names.map(alternative))))]),
  ];
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1 + Math.floor(Math.random() * 120), 1, 2, 3])),
    algorithm,
    issuer?.name ?? name,
    sequence(time(notBefore), time(notAfter)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length === 0 ? [] : [der(0xa3, sequence(...extensions))]),
  );
  const signed = sign('sha256', toBeSigned, signingKey);
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), signed]));
  const certificate = sequence(toBeSigned, algorithm, signature)
    .toString('base64')
    .replace(/.{64}(?!$)/g, '$&\n');
  const pair: Pair = {
    cert: `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
  return { pair, name, key: privateKey };
}

const alternative = (name: string): Buffer =>
  isIP(name) === 4 ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name));

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, Buffer.concat(parts));

/** UTCTime: `YYMMDDHHMMSSZ`. */
const time = (at: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(at).toISOString().replace(/\D/g, '').slice(2, 14)}Z`));

const oid = (...bytes: readonly number[]): Buffer => der(0x06, Buffer.from(bytes));
/** 2.5.4.3 */
const COMMON_NAME = oid(0x55, 0x04, 0x03);
/** 2.5.29.19 */
const BASIC_CONSTRAINTS = oid(0x55, 0x1d, 0x13);
/** 2.5.29.17 */
const ALTERNATIVE_NAME = oid(0x55, 0x1d, 0x11);
/** 1.2.840.10045.4.3.2 */
const ECDSA_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
/** 1.2.840.113549.1.1.11, whose parameters are NULL. */
const RSA_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b), der(0x05, Buffer.alloc(0)));
