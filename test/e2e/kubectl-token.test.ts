import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithKubectl, kubectl, kubectlOk } from './support/kubectl.ts';
import { type Server, startServer } from './support/server.ts';
import { createWorld } from './support/token-world.ts';

const ALPHA = { clusterPath: '/orchestrator/alpha' } as const;
let server: Server;

beforeAll(async () => {
  server = await startServer({ tls: true });
  await createWorld(server);
});
afterAll(() => server.destroy());

const claimsIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

describeWithKubectl('kubectl create token', () => {
  it('X-01, X-02: prints the token alone', async () => {
    const token = await kubectlOk(server, ['create', 'token', 'builder', '-n', 'ci'], ALPHA);
    expect(token).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n?$/);
    expect(claimsIn(token)).toMatchObject({
      aud: [`${server.url}/orchestrator/alpha`],
      sub: 'system:serviceaccount:ci:builder',
    });
  });

  it('with an audience, a lifetime and a pod', async () => {
    const args = ['--audience=vault', '--duration=10m', '--bound-object-kind=Pod', '--bound-object-name=web-0'];
    const claims = claimsIn(await kubectlOk(server, ['create', 'token', 'builder', '-n', 'ci', ...args], ALPHA));
    expect(claims.aud).toEqual(['vault']);
    expect(claims.exp - claims.iat).toBe(600);
    expect(claims['kubernetes.io'].pod.name).toBe('web-0');
  });

  it('bound to a secret, several audiences, as JSON', async () => {
    const args = [
      '--audience=a',
      '--audience=b',
      '--bound-object-kind=Secret',
      '--bound-object-name=tls',
      '-o',
      'json',
    ];
    const json = JSON.parse(await kubectlOk(server, ['create', 'token', 'builder', '-n', 'ci', ...args], ALPHA));
    expect(json).toMatchObject({ kind: 'TokenRequest', spec: { audiences: ['a', 'b'] } });
    expect(claimsIn(json.status.token)['kubernetes.io'].secret.name).toBe('tls');
  });

  it.each<[string, string[], string]>([
    ['an account that is not there', ['nobody'], 'error: failed to create token: serviceaccounts "nobody" not found'],
    ['too short a lifetime', ['builder', '--duration=1m'], 'spec.expirationSeconds'],
    ['decision 5: a node', ['builder', '--bound-object-kind=Node', '--bound-object-name=n'], 'cannot bind token'],
  ])('%s', async (_, args, message) => {
    const { code, stderr, stdout } = await kubectl(server, ['create', 'token', '-n', 'ci', ...args], ALPHA);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
  });

  it('the token is good for kubectl itself', async () => {
    const token = (await kubectlOk(server, ['create', 'token', 'builder', '-n', 'ci'], ALPHA)).trim();
    expect(await kubectlOk(server, ['api-resources', '-o', 'name'], { ...ALPHA, token })).toContain('serviceaccounts');
    const { stderr } = await kubectl(server, ['get', 'pods', '-n', 'ci'], { ...ALPHA, token });
    expect(stderr).toContain('User "system:serviceaccount:ci:builder" cannot list resource "pods"');
  });
});
