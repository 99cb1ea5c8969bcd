import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithKubectl, type KubectlOptions, kubectl, kubectlOk } from './support/kubectl.ts';
import { grant, may, REGISTRY_GROUP } from './support/rbac.ts';
import { type Server, startServer } from './support/server.ts';
import { asUser, createWorld, issue } from './support/token-world.ts';

const AT_ALPHA = { clusterPath: '/orchestrator/alpha' };
const AT_BETA = { clusterPath: '/orchestrator/beta' };
const JANE = asUser('jane');

describeWithKubectl('kubectl auth', () => {
  let server: Server;
  let builder: string;

  beforeAll(async () => {
    server = await startServer({ users: { jane: ['devs'] }, tls: true });
    await createWorld(server);
    builder = await issue(server);
    await grant(server, {
      to: 'jane',
      rules: [may('create', 'serviceaccounts/token'), may('get', 'clusters', REGISTRY_GROUP)],
      clusters: 'env=prod',
    });
  });
  afterAll(() => server.destroy());

  it('whoami', async () => {
    const rows = (await kubectlOk(server, ['auth', 'whoami'], JANE)).split('\n').map((row) => row.split(/ {2,}/));
    expect(rows).toEqual([
      ['ATTRIBUTE', 'VALUE'],
      ['Username', 'jane'],
      ['UID', 'uid-jane'],
      ['Groups', '[devs system:authenticated]'],
      [''],
    ]);
  });

  it('whoami, in the cluster of a service account and elsewhere', async () => {
    const args = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
    const nameAt = (options: KubectlOptions) => kubectlOk(server, args, { ...options, token: builder });
    expect(await nameAt(AT_ALPHA)).toBe('system:serviceaccount:ci:builder');
    expect(await nameAt(AT_BETA)).toBe('system:cluster:alpha:serviceaccount:ci:builder');
    expect(await nameAt({})).toBe('system:cluster:alpha:serviceaccount:ci:builder');
  });

  /** kubectl says it in a word and by its exit code. */
  const canI = async (args: string, options: KubectlOptions): Promise<boolean> => {
    const { code, stdout, stderr } = await kubectl(server, ['auth', 'can-i', ...args.split(' ')], options);
    expect([`yes\n`, 'no\n'], stderr).toContain(stdout);
    expect(code).toBe(stdout === 'yes\n' ? 0 : 1);
    return code === 0;
  };
  const TOKEN = 'create serviceaccounts --subresource=token -n ci';

  it.each<[args: string, options: KubectlOptions, answer: boolean]>([
    ['get clusters', {}, true],
    ['get clusters', JANE, false],
    ['get clusters/alpha', JANE, true],
    ['get clusters/beta', JANE, false],
    ['list clusters', JANE, true],
    ['delete clusters/alpha', JANE, false],
    [TOKEN, { ...AT_ALPHA, ...JANE }, true],
    [TOKEN, { ...AT_BETA, ...JANE }, false],
    [TOKEN, { ...AT_BETA }, true],
    ['get pods -A', { ...AT_ALPHA, ...JANE }, false],
    ['get /apis', JANE, true],
    ['get /metrics', JANE, false],
    ['* *', {}, true],
    ['* *', JANE, false],
  ])('can-i %s, %j', async (args, options, answer) => {
    expect(await canI(args, options)).toBe(answer);
  });

  it('can-i --list', async () => {
    const list = async (options: KubectlOptions) => {
      const { code, stdout, stderr } = await kubectl(server, ['auth', 'can-i', '--list', '-n', 'ci'], options);
      expect(code, stderr).toBe(0);
      return { rows: stdout.split('\n').map((row) => row.replaceAll(/ +/g, ' ')), stderr };
    };
    const there = await list({ ...AT_ALPHA, ...JANE });
    expect(there.rows).toContain('serviceaccounts/token [] [] [create]');
    expect(there.rows).toContain('selfsubjectreviews.authentication.k8s.io [] [] [create]');
    expect(there.rows).toContain(' [/openapi/*] [] [get]');
    expect(there.stderr).toBe('');

    const elsewhere = await list({ ...AT_BETA, ...JANE });
    expect(elsewhere.rows).not.toContain('serviceaccounts/token [] [] [create]');
    expect(elsewhere.stderr).toBe('');

    const atFleet = await list(JANE);
    expect(atFleet.rows).not.toContain('serviceaccounts/token [] [] [create]');
    expect(atFleet.stderr).toContain('the list may be incomplete: rules that hold in some clusters only');

    expect((await list({})).rows).toContain('*.* [] [] [*]');
  });
});
