/**
 * The least that any Node server could do for the same work, over the same TLS: the floors that ours is compared with.
 * `node floor-process.ts WORK [FILE]`; prints the port.
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

function answer(res: ServerResponse, code: number, body: Buffer): void {
  res.writeHead(code, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  res.end(body);
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Reads the body, signs the same claims off the event loop, answers. */
function token(): Handler {
  // By the same way as ours: a key that can only be used, and a signature of the JOSE form.
  const { privateKey }: { privateKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const header = encode({ alg: 'ES256', kid: randomUUID() });
  const sample = JSON.parse(readFileSync(file, 'utf8')) as { answer: TokenAnswer; claims: Record<string, unknown> };
  return (req, res) =>
    readBody(req, (body) => {
      const sent = JSON.parse(body.toString()) as { spec: { audiences: string[] } };
      const now = Math.floor(Date.now() / 1000);
      const claims = { ...sample.claims, iat: now, nbf: now, exp: now + 3600, jti: randomUUID() };
      const input = `${header}.${encode(claims)}`;
      sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }, (error, signature) => {
        if (error !== null || sent.spec.audiences === undefined) throw error;
        const status = { ...sample.answer.status, token: `${input}.${signature.toString('base64url')}` };
        answer(res, 201, Buffer.from(JSON.stringify({ ...sample.answer, status })));
      });
    });
}

interface TokenAnswer {
  readonly status: { readonly token: string };
}

/** Writes the same bytes. */
function bytes(): Handler {
  const body = readFileSync(file);
  return (_, res) => answer(res, 200, body);
}

/** Writes what is posted to everybody who watches, one write for each. */
function watch(): Handler {
  const watchers = new Set<ServerResponse>();
  return (req, res) => {
    if (req.method === 'POST') {
      readBody(req, (frame) => {
        for (const watcher of watchers) watcher.write(frame);
        answer(res, 201, Buffer.from('{}'));
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

/** Stores what is posted, durably, everything that came in one turn of the event loop in one transaction; answers with it. */
function create(): Handler {
  const db = openDatabase(file);
  const insert = db.prepare('INSERT INTO log (revision, key, created, value) VALUES (?, ?, ?, ?)');
  let revision = 1;
  let waiting: { readonly object: { metadata: Record<string, string> }; readonly res: ServerResponse }[] = [];
  const commit = (): void => {
    const batch = waiting;
    waiting = [];
    db.exec('BEGIN IMMEDIATE');
    for (const { object } of batch) {
      revision += 1;
      Object.assign(object.metadata, { uid: randomUUID(), creationTimestamp: new Date().toISOString() });
      const bytes = Buffer.from(JSON.stringify(object));
      insert.run(revision, `/registry/clusters/${object.metadata.name}`, revision, bytes);
      object.metadata.resourceVersion = String(revision);
    }
    db.exec('COMMIT');
    for (const { object, res } of batch) answer(res, 201, Buffer.from(JSON.stringify(object)));
  };
  return (req, res) =>
    readBody(req, (body) => {
      if (waiting.length === 0) setImmediate(commit);
      waiting.push({ object: JSON.parse(body.toString()), res });
    });
}

const WORKS: Readonly<Record<string, () => Handler>> = { token, bytes, watch, create };
const make = WORKS[name];
if (make === undefined) throw new Error(`no such floor: ${name}`);
const tls = { cert: readFileSync(TLS.certFile), key: readFileSync(TLS.keyFile) };
const options = { ...tls, ALPNProtocols: ['http/1.1'], minVersion: 'TLSv1.2', ciphers: CIPHERS } as const;
const server = createServer(options, make());
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`));
process.on('disconnect', () => process.exit());
