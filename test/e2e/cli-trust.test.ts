import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer, type Server as TlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { presentedRoot } from '../../src/cli/commands/trust.ts';
import { Person } from './support/cli.ts';
import { createObjects, issue, tokenPath } from './support/objects.ts';
import { WHO } from './support/reviews.ts';
import { type Server, startServer, TLS, tokenOf } from './support/server.ts';

/** `clusterpass trust`: what a cluster needs to believe us. */

let server: Server;
let person: Person;
let uids: Awaited<ReturnType<typeof createObjects>>;

beforeAll(async () => {
  server = await startServer({ tls: true, users: { jane: [] } });
  uids = await createObjects(server);
  person = await Person.at({ CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: server.adminToken });
});
afterAll(async () => {
  await person.leave();
  await server.destroy();
});

const withoutNewline = (text: string): string => text.trimEnd();

describe('clusterpass trust', () => {
  it('names the issuer, its audience and the authority that was given', async () => {
    const out = await person.ok(['trust', 'alpha', '--certificate-authority', TLS.caFile]);
    const { issuer } = parse(out).jwt[0];
    const url = `${server.url}/orchestrator/alpha`;
    expect(issuer).toMatchObject({ url, audiences: [url], certificateAuthority: await readFile(TLS.caFile, 'utf8') });
  });

  it('takes the authority that the issuer shows, if this machine trusts it', async () => {
    const out = await person.ok(['trust', 'alpha'], { env: { NODE_EXTRA_CA_CERTS: TLS.caFile } });
    const { certificateAuthority } = parse(out).jwt[0].issuer;
    expect(withoutNewline(certificateAuthority)).toBe(withoutNewline(await readFile(TLS.caFile, 'utf8')));
  });

  it('never takes the word of somebody whose certificate was not verified', async () => {
    const out = await person.ok(['trust', 'alpha', '--insecure-skip-tls-verify']);
    expect(parse(out).jwt[0].issuer).not.toHaveProperty('certificateAuthority');
    expect(out).toContain('# No certificateAuthority: the certificate of the issuer was not verified.');
  });

  it('is not written for a cluster that is not there, or not for you', async () => {
    const ca = ['--certificate-authority', TLS.caFile];
    expect(await person.fails(['trust', 'alhpa', ...ca])).toContain('"alhpa" not found');
    const env = { CLUSTERPASS_TOKEN: tokenOf('jane') };
    expect(await person.fails(['trust', 'alpha', ...ca], { env })).toContain('cannot get resource "clusters"');
  });
});

/** A second service stands for the API server: what it takes from the file it takes as kube-apiserver does. */
describe('what it printed, where it is used', () => {
  let other: Server;
  const user = async (token: string) => (await other.call('POST', WHO, { body: {}, token })).json.status?.userInfo;

  beforeAll(async () => {
    const file = join(server.dataDir, 'printed.yaml');
    const printed = parse(await person.ok(['trust', 'alpha', '--certificate-authority', TLS.caFile]));
    // The names of the system are the API server's own to give. A second service gives them to its own accounts alone.
    const { username, groups } = printed.jwt[0].claimMappings;
    for (const mapping of [username, groups]) {
      mapping.expression = mapping.expression.replaceAll('"system:', '"there:');
    }
    await writeFile(file, stringify(printed));
    other = await startServer({ args: ['--authentication-config', file] });
  });
  afterAll(() => other.destroy());

  it('O-06: keys are found by issuer and authority, and a token gives name, groups and uid', async () => {
    expect(await user(await issue(server))).toEqual({
      username: 'there:serviceaccount:ci:builder',
      uid: uids.builder,
      groups: ['there:serviceaccounts', 'there:serviceaccounts:ci', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)] },
    });
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'web-0' };
    const bound = await issue(server, tokenPath(), { audiences: [], boundObjectRef });
    expect((await user(bound)).extra).toMatchObject({
      'clusterpass.dev/pod-name': ['web-0'],
      'clusterpass.dev/pod-uid': [uids.pod],
    });
  });

  it('A3: a token for somebody else, or of another cluster, is none there', async () => {
    expect(await user(await issue(server, tokenPath(), { audiences: ['vault'] }))).toBeUndefined();
    expect(await user(await issue(server, tokenPath('builder', 'ci', 'beta')))).toBeUndefined();
  });
});

describe('looking at a certificate', () => {
  it('A13: one that this machine does not trust is a problem, and so is no answer', async () => {
    const other: TlsServer = createServer({ cert: await readFile(TLS.certFile), key: await readFile(TLS.keyFile) });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    // For the name that it is asked by, the certificate says nothing.
    expect(await presentedRoot({ host: 'localhost.localdomain', port })).toHaveProperty('problem');
    await new Promise((resolve) => other.close(resolve));
    expect(await presentedRoot({ host: '127.0.0.1', port })).toHaveProperty('problem');
  });
});
