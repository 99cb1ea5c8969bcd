import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { PROGRAM } from '../program.ts';
import { Person } from './support/cli.ts';
import { patchCluster } from './support/fleet.ts';
import { bind, createObjects } from './support/objects.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** A developer in one minute: which accounts are usable, the context for kubectl, and the page in the console. */

const server = sharedServer();
let jane: Person;
let nobody: Person;

beforeAll(async () => {
  await createObjects(server);
  const serverEndpoints = [{ clientCIDR: '', serverAddress: 'https://10.0.0.1:6443' }];
  await patchCluster(server, 'alpha', { spec: { orchestratorApiEndpoints: { serverEndpoints } } });
  const registry = { apiGroups: ['clusterregistry.k8s.io'] };
  const see = { ...registry, resources: ['clusters'], verbs: ['get', 'list', 'watch'] };
  await bind(server, 'jane-sees', { kind: 'User', name: 'jane' }, see);
  await bind(server, 'jane-issues', { kind: 'User', name: 'jane' }, undefined, 'env=prod');
  const own = { ...registry, resources: ['clusters/userpass'], verbs: ['create'] };
  await bind(server, 'jane-herself', { kind: 'User', name: 'jane' }, own, 'env=prod');
  [jane, nobody] = await Promise.all([Person.as(server, 'jane'), Person.as(server, 'nobody')]);
});

describe('clusterpass get accounts', () => {
  it('lists the accounts of which the caller gets passes, and the caller itself, in the selected clusters', async () => {
    const all = await jane.ok(['get', 'accounts']);
    expect(all).toMatch(/^CLUSTER +ACCOUNT\nalpha +me\nalpha +ci\/builder\n/);
    expect(all).not.toContain('beta');
    expect(await jane.ok(['get', 'accounts', '--cluster', 'alpha'])).toBe(all);
    expect(await jane.ok(['get', 'accounts', '-l', 'env=prod'])).toBe(all);
    const { items } = JSON.parse(await jane.ok(['get', 'accounts', '-o', 'json']));
    expect(items).toContainEqual({ cluster: 'alpha', account: 'ci/builder' });
    const none = await jane.run(['get', 'accounts', '--cluster', 'beta']);
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('request create') });
    expect(await jane.fails(['get', 'accounts', '--cluster', 'alpah'])).toContain('did you mean alpha?');
  });
});

describe('clusterpass use', () => {
  const current = async () => {
    const { contexts, users, ...config } = parse(await readFile(join(jane.home, '.kube/config'), 'utf8'));
    const name = config['current-context'];
    const { context } = contexts.find((each: { name: string }) => each.name === name);
    const { args } = users.find((each: { name: string }) => each.name === context.user).user.exec;
    return [name, args.slice(args.indexOf('--cluster') + 1).join(' ')];
  };

  it('writes the context and makes it the current one, for each account', async () => {
    const { code, stderr } = await jane.run(['use', 'alpha', '--as', 'ci/builder']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('kubectl uses alpha now\n')]);
    expect(stderr).toContain('Next: kubectl --context alpha auth whoami\n');
    expect(await current()).toEqual(['alpha', 'alpha --namespace ci --service-account builder']);
    await jane.ok(['use', 'alpha', '--as-me']);
    expect(await current()).toEqual(['alpha-me', 'alpha --as-me']);
    await jane.ok(['use', 'alpha', '--as', 'ci/builder']);
    expect((await current())[0]).toBe('alpha');
  });

  it('without a terminal says what is possible', async () => {
    expect(await jane.fails(['use'])).toBe('error: name the cluster: alpha, beta\n');
    expect(await jane.fails(['use', 'alpha'])).toMatch(
      /^error: set --as-me, or --as with an account of alpha: me \(--as-me\), ci\/builder, /,
    );
    expect(await jane.fails(['use', 'beta'])).toContain(
      'you get passes of no account in beta; ask for one: clusterpass',
    );
    expect(await jane.fails(['use', 'alpah'])).toContain('did you mean alpha?');
    expect(await nobody.fails(['use'])).toBe('error: name the cluster: there is none\n');
  });

  it('on a terminal takes what is typed and chosen, first the cluster and then the account', async () => {
    // `script` gives it a terminal.
    const child = spawn('script', ['-qec', `'${process.execPath}' '${PROGRAM}' use`, '/dev/null'], {
      env: {
        PATH: process.env.PATH,
        HOME: jane.home,
        TERM: 'xterm',
        CLUSTERPASS_SERVER: server.url,
        CLUSTERPASS_TOKEN: tokenOf('jane'),
      },
    });
    const keys = ['alph\r', 'other\r'];
    let screen = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      screen += text;
      if (/^1\) /m.test(text)) child.stdin.write(keys.shift());
    });
    const [code] = await once(child, 'close');
    expect([code, await current()], screen).toEqual([
      0,
      ['alpha-other', 'alpha --namespace ci --service-account other'],
    ]);
  });
});

describe('clusterpass open', () => {
  it('prints the address of the page, and opens no browser without a terminal', async () => {
    expect(await jane.ok(['open'])).toBe(`${server.url}/console/\n`);
    expect(await jane.ok(['open', 'alpha'])).toBe(`${server.url}/console/#/clusters/alpha\n`);
    expect(await jane.ok(['open', 'request', 'jane-x'])).toBe(`${server.url}/console/#/requests/jane-x\n`);
    expect(await jane.ok(['open', 'pass', 'pass_x'])).toBe(`${server.url}/console/#/passes/pass_x\n`);
    expect(await jane.fails(['open', 'alpha', 'x'])).toContain('name a cluster, request NAME or pass HANDLE');
    expect(await jane.fails(['open', 'eu/alpha'])).toContain('--server eu');
  });
});
