import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from './network.ts';

/** A certificate (RFC 5280) that signs itself, in DER: Node reads certificates, but makes none. */

/** PEM, for a server at these names and IPv4 addresses, with a P-256 key. It can sign no other certificate. */
export function selfSigned(names: readonly string[], from: Date, until: Date) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const serial = randomBytes(16);
  // Positive, and without a leading zero.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const name = sequence(der(SET, sequence(oid('2.5.4.3'), der(UTF8_STRING, Buffer.from(names[0] ?? '')))));
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'));
  const alternatives = names.map((each) =>
    isIP(each) === 4 ? der(0x87, Buffer.from(each.split('.').map(Number))) : der(0x82, Buffer.from(each)),
  );
  const extensions = [
    extension('2.5.29.17', sequence(...alternatives)),
    // basicConstraints: no CA. keyUsage: digitalSignature. extendedKeyUsage: serverAuth.
    extension('2.5.29.19', sequence()),
    extension('2.5.29.15', der(BIT_STRING, Buffer.from([7, 0x80]))),
    extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
  ];
  const certificate = sequence(
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, serial),
    algorithm,
    name,
    sequence(time(from), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', certificate, privateKey);
  const whole = sequence(certificate, algorithm, der(BIT_STRING, Buffer.concat([Buffer.from([0]), signature])));
  const base64 = whole.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd();
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_IDENTIFIER = 0x06;
const UTF8_STRING = 0x0c;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(SEQUENCE, Buffer.concat(parts));

const extension = (id: string, value: Buffer): Buffer => sequence(oid(id), der(OCTET_STRING, value));

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const base128 = (part: number): number[] =>
    part < 0x80 ? [part] : [...base128(part >> 7).map((byte) => byte | 0x80), part & 0x7f];
  return der(OBJECT_IDENTIFIER, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** `20260901120000Z` */
const time = (date: Date): Buffer =>
  der(GENERALIZED_TIME, Buffer.from(`${date.toISOString().replaceAll(/[-:T]|\.\d+Z$/g, '')}Z`));
