/**
 * `node floor-process.ts WORK FILE`: a floor, the least that any Node server could do for this work, over the same
 * TLS as Clusterpass. Prints its port.
 */
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { CIPHERS } from '../../src/http/listener/tls.ts';
import { openDatabase } from '../../src/storage/sqlite/database.ts';
import { TLS } from '../../test/e2e/support/server.ts';

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

const [name = '', file = ''] = process.argv.slice(2);

function readBody(req: IncomingMessage, then: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => then(Buffer.concat(chunks)));
}

function respond(res: ServerResponse, code: number, body: Buffer): void {
  res.writeHead(code, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  res.end(body);
}

/** A segment of a JWS. */
const encodeSegment = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A response of Clusterpass, and the claims of its token. */
export interface TokenSample {
  readonly response: { readonly status: { readonly token: string } };
  readonly claims: Record<string, unknown>;
}

/** Parses the body, signs the same claims outside of the event loop, and responds. */
function token(): Handler {
  // As Clusterpass signs: with a KeyObject, and a signature in the form of JOSE.
  const { privateKey }: { privateKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const header = encodeSegment({ alg: 'ES256', kid: randomUUID() });
  const sample = JSON.parse(readFileSync(file, 'utf8')) as TokenSample;
  return (req, res) =>
    readBody(req, (body) => {
      const sent = JSON.parse(body.toString()) as { spec: { audiences: string[] } };
      const now = Math.floor(Date.now() / 1000);
      const claims = { ...sample.claims, iat: now, nbf: now, exp: now + 3600, jti: randomUUID() };
      const input = `${header}.${encodeSegment(claims)}`;
      sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }, (error, signature) => {
        if (error !== null || sent.spec.audiences === undefined) throw error;
        const status = { ...sample.response.status, token: `${input}.${signature.toString('base64url')}` };
        respond(res, 201, Buffer.from(JSON.stringify({ ...sample.response, status })));
      });
    });
}

/** Responds with the bytes of the file. */
function bytes(): Handler {
  const body = readFileSync(file);
  return (_, res) => respond(res, 200, body);
}

/** Writes the body of each POST to all watchers, with one write each. */
function watch(): Handler {
  const watchers = new Set<ServerResponse>();
  return (req, res) => {
    if (req.method === 'POST') {
      readBody(req, (frame) => {
        for (const watcher of watchers) watcher.write(frame);
        respond(res, 201, Buffer.from('{}'));
      });
      return;
    }
    res.writeHead(200, { 'Content-Type': 'application/json' });
    res.flushHeaders();
    watchers.add(res);
    res.on('error', () => {});
    res.on('close', () => watchers.delete(res));
  };
}

/** Stores each body durably and responds with it. All bodies of one tick of the event loop share a transaction. */
function create(): Handler {
  const db = openDatabase(file);
  const insert = db.prepare('INSERT INTO log (revision, key, created, value) VALUES (?, ?, ?, ?)');
  let revision = 1;
  let pending: { readonly object: { metadata: Record<string, string> }; readonly res: ServerResponse }[] = [];
  const commit = (): void => {
    const batch = pending;
    pending = [];
    db.exec('BEGIN IMMEDIATE');
    for (const { object } of batch) {
      revision += 1;
      Object.assign(object.metadata, { uid: randomUUID(), creationTimestamp: new Date().toISOString() });
      const stored = Buffer.from(JSON.stringify(object));
      insert.run(revision, `/registry/clusters/${object.metadata.name}`, revision, stored);
      object.metadata.resourceVersion = String(revision);
    }
    db.exec('COMMIT');
    for (const { object, res } of batch) respond(res, 201, Buffer.from(JSON.stringify(object)));
  };
  return (req, res) =>
    readBody(req, (body) => {
      if (pending.length === 0) setImmediate(commit);
      pending.push({ object: JSON.parse(body.toString()), res });
    });
}

const WORKS: Readonly<Record<string, () => Handler>> = { token, bytes, watch, create };
const make = WORKS[name];
if (make === undefined) throw new Error(`unknown floor "${name}": expected ${Object.keys(WORKS).join(', ')}`);
const tls = { cert: readFileSync(TLS.certFile), key: readFileSync(TLS.keyFile) };
const options = { ...tls, ALPNProtocols: ['http/1.1'], minVersion: 'TLSv1.2', ciphers: CIPHERS } as const;
const server = createServer(options, make());
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`));
process.on('disconnect', () => process.exit());
