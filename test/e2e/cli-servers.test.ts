import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Person, userIn } from './support/cli.ts';
import { addCluster, grantClusters } from './support/fleet.ts';
import { bind, createAccount, createNamespace } from './support/objects.ts';
import { type Server, TLS, tokenOf } from './support/server.ts';
import { sharedServer, sharedTlsServer } from './support/shared-server.ts';

/** A user who is logged in to two servers. Both have a cluster `prod-1`. */

const eu = sharedServer();
const us = sharedTlsServer();
let jane: Person;

const EXEC = ['exec', '--as', 'ci/builder'];
const KUBECONFIG = ['kubeconfig', '--as', 'ci/builder', '--exec-command', 'clusterpass'];

async function fill(server: Server, clusters: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, env] of Object.entries(clusters)) {
    const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: `https://${name}.example.com` }];
    await addCluster(server, name, { labels: { env }, spec: { orchestratorApiEndpoints: { serverEndpoints } } });
    await createNamespace(server, 'ci', name);
    await createAccount(server, 'builder', 'ci', name);
  }
  await grantClusters(server, 'jane-sees', 'jane');
  await bind(server, 'jane-tokens', { kind: 'User', name: 'jane' });
}

const logIn = (server: Server, ...flags: string[]): Promise<string> =>
  jane.ok(['login', '--server', server.url, '--token-file', '-', ...flags], { stdin: tokenOf('jane') });

beforeAll(async () => {
  await fill(eu, { 'dev-1': 'dev', 'prod-1': 'prod' });
  await fill(us, { 'prod-1': 'prod', 'stage-1': 'stage' });
  jane = await Person.at({ CLUSTERPASS_CA: TLS.caFile });
  await logIn(us);
  await logIn(eu, '--name', 'eu');
});

/** The words of each line, without the header. */
const rows = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(/ +/));

const contexts = async (file: string): Promise<Record<string, string>> => {
  const { contexts: all, users } = parse(await readFile(join(jane.home, file), 'utf8'));
  return Object.fromEntries(
    all.map(({ name, context }: { name: string; context: { user: string } }) => {
      const { user } = users.find((entry: { name: string }) => entry.name === context.user);
      return [name, user.exec.args[user.exec.args.indexOf('--server') + 1]];
    }),
  );
};

describe('logins at two servers', () => {
  it('have names, which --server takes', async () => {
    const host = new URL(us.url).host;
    expect(rows(await jane.ok(['servers']))).toEqual([
      ['', host, us.url],
      ['*', 'eu', eu.url],
    ]);
    const user = ['whoami', '-o', 'json', '--server'];
    expect(userIn(await jane.ok([...user, host]))).toBe('jane');
    await logIn(us, '--name', 'us');
    // A login keeps the name of the one before, and becomes the current one.
    await logIn(us);
    expect(rows(await jane.ok(['servers']))).toEqual([
      ['', 'eu', eu.url],
      ['*', 'us', us.url],
    ]);
    for (const name of ['eu', us.url]) expect(userIn(await jane.ok([...user, name]))).toBe('jane');
  });

  it('are printed for programs with -o', async () => {
    const items = [
      { name: 'eu', server: eu.url, current: false },
      { name: 'us', server: us.url, current: true },
    ];
    expect(JSON.parse(await jane.ok(['servers', '-o', 'json']))).toEqual({ items });
    expect(parse(await jane.ok(['servers', '-o', 'yaml']))).toEqual({ items });
    expect(await jane.fails(['servers', '-o', 'wide'])).toContain('--output: "wide" must be one of json, yaml');
  });

  it('are the default of commands by servers use, with a name or an address', async () => {
    const listed = async (): Promise<object[]> => JSON.parse(await jane.ok(['servers', '-o', 'json'])).items;
    expect(await jane.ok(['servers', 'use', 'eu'])).toBe(`The current server is eu (${eu.url}).\n`);
    expect(await listed()).toMatchObject([{ name: 'eu', current: true }, { current: false }]);
    expect(await jane.ok(['servers', 'use', us.url])).toBe(`The current server is us (${us.url}).\n`);
    expect(await listed()).toMatchObject([{ current: false }, { name: 'us', current: true }]);
    expect(await jane.fails(['servers', 'use', 'use'])).toBe(
      'error: not logged in to https://use: run clusterpass login --server https://use; your logins are eu, us\n',
    );
    expect(await jane.fails(['servers', 'use'])).toContain("missing required argument 'NAME'");
    expect(await jane.fails(['servers', 'eu'])).toContain("unknown command 'eu'");
    expect(await listed()).toMatchObject([{ current: false }, { name: 'us', current: true }]);
  });

  it('are none for -o without a login', async () => {
    const joe = await Person.at({ CLUSTERPASS_CA: TLS.caFile });
    expect(JSON.parse(await joe.ok(['servers', '-o', 'json']))).toEqual({ items: [] });
  });

  it.each([
    ['eu', /^error: --name: "eu" is the name of http/],
    ['e/u', /^error: --name: "e\/u" is not a name/],
    ['clusters', /^error: --name: "clusters" is not a name/],
  ])('are not named %s', async (name, message) => {
    const login = ['login', '--server', us.url, '--token', tokenOf('jane'), '--name', name];
    expect(await jane.fails(login)).toMatch(message);
  });
});

describe('get clusters', () => {
  it('lists the clusters of both, by selector or name', async () => {
    const list = async (...args: string[]) =>
      rows(await jane.ok(['get', 'clusters', ...args])).map((row) => row.slice(0, 2));
    expect(await list()).toEqual([
      ['eu', 'dev-1'],
      ['eu', 'prod-1'],
      ['us', 'prod-1'],
      ['us', 'stage-1'],
    ]);
    const both = [
      ['eu', 'prod-1'],
      ['us', 'prod-1'],
    ];
    expect(await list('-l', 'env=prod')).toEqual(both);
    expect(await list('prod-1')).toEqual(both);
    expect(await list('us/prod-1', 'dev-1')).toEqual([
      ['us', 'prod-1'],
      ['eu', 'dev-1'],
    ]);
    expect(await jane.fails(['get', 'clusters', 'nope'])).toBe(
      'error: nope: there is no such cluster that you may see\n',
    );
    expect(await jane.fails(['get', 'clusters', 'asia/prod-1'])).toBe(
      'error: "asia/prod-1": expected NAME or SERVER/NAME, with one of these servers: eu, us\n',
    );
  });

  it('prints the server of each in every format', async () => {
    const type = 'cluster.clusterregistry.k8s.io';
    expect(await jane.ok(['get', 'clusters', 'prod-1', '-o', 'name'])).toBe(`${type}/eu/prod-1\n${type}/us/prod-1\n`);
    expect(await jane.ok(['get', 'cluster', `${type}/us/stage-1`, '-o', 'name'])).toBe(`${type}/us/stage-1\n`);
    const { metadata } = JSON.parse(await jane.ok(['get', 'clusters', 'stage-1', '-o', 'json']));
    expect(metadata.annotations['clusterpass.dev/server']).toBe(us.url);
  });

  it('is for one server if a server or a token is given', async () => {
    const names = ['get', 'clusters', '-o', 'name'];
    const type = 'cluster.clusterregistry.k8s.io';
    const ofUs = `${type}/prod-1\n${type}/stage-1\n`;
    expect(await jane.ok([...names, '--server', 'us'])).toBe(ofUs);
    // To the server of the last login, and to no other.
    expect(await jane.ok(names, { env: { CLUSTERPASS_TOKEN: tokenOf('jane') } })).toBe(ofUs);
    expect(await jane.ok(names, { env: { CLUSTERPASS_SERVER: 'eu' } })).toBe(`${type}/dev-1\n${type}/prod-1\n`);
  });
});

describe('describe cluster', () => {
  const described = async (...names: string[]): Promise<string[][]> => {
    const text = await jane.ok(['describe', 'cluster', ...names]);
    return [...text.matchAll(/^Name: +(.*)\nServer: +(.*)$/gm)].map(([, name = '', server = '']) => [server, name]);
  };

  it('finds a cluster at any server, and one of a name that both have by its server', async () => {
    expect(await described('stage-1', 'dev-1')).toEqual([
      [`us (${us.url})`, 'stage-1'],
      [`eu (${eu.url})`, 'dev-1'],
    ]);
    expect(await described('prod-1')).toEqual([
      [`eu (${eu.url})`, 'prod-1'],
      [`us (${us.url})`, 'prod-1'],
    ]);
    expect(await described('eu/prod-1')).toEqual([[`eu (${eu.url})`, 'prod-1']]);
    expect(await described('cluster/us/stage-1')).toEqual([[`us (${us.url})`, 'stage-1']]);
  });

  it('says once that no server has it, and names the servers that there are', async () => {
    expect(await jane.fails(['describe', 'cluster', 'nope'])).toBe(
      'error: nope: there is no such cluster that you may see\n',
    );
    expect(await jane.fails(['describe', 'cluster', 'asia/prod-1'])).toBe(
      'error: "asia/prod-1": expected NAME or SERVER/NAME, with one of these servers: eu, us\n',
    );
  });
});

describe('commands over one server', () => {
  it.each([
    [['create', 'token', 'builder', '-n', 'ci', '--cluster', 'eu/prod-1'], '--cluster: '],
    [['kubectl', '--cluster', 'eu/prod-1', 'get', 'sa'], '--cluster: '],
    [['confirm', 'eu/prod-1'], ''],
    [['auth', 'can-i', 'get', 'cluster', 'eu/prod-1'], ''],
    [['auth', 'why', 'get', 'clusters', 'eu/prod-1'], ''],
    [['auth', 'who-can', 'get', 'clusters.clusterregistry.k8s.io', 'eu/prod-1'], ''],
  ])('%j says to use --server', async (args, flag) => {
    expect(await jane.fails(args)).toBe(
      `error: ${flag}"eu/prod-1" is not the name of a cluster: for the cluster "prod-1" of another server, use --server eu\n`,
    );
  });
});

describe('kubeconfig', () => {
  it('writes contexts of both, with the server in their names', async () => {
    await jane.ok([...KUBECONFIG, '--output', 'both']);
    const all = { 'eu/dev-1': eu.url, 'eu/prod-1': eu.url, 'us/prod-1': us.url, 'us/stage-1': us.url };
    expect(await contexts('both')).toEqual(all);
    const { stderr } = await jane.run([...KUBECONFIG, '--output', 'both', '--prune']);
    expect(stderr).toContain('up to date, 4 contexts\n');
    await jane.ok([...KUBECONFIG, '--output', 'named', '--cluster', 'us/prod-1', '--cluster', 'dev-1']);
    expect(await contexts('named')).toEqual({ 'eu/dev-1': eu.url, 'us/prod-1': us.url });
    expect(await jane.run([...KUBECONFIG, '--output', 'named', '--cluster', 'nope'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error: nope: there is no such cluster that you may see\n'),
    });
  });

  it('warns of an account with the servers of its clusters', async () => {
    const { stderr } = await jane.run(['kubeconfig', '--as', 'ci/absent', '--output', 'absent']);
    const warning = 'Warning: no pass for ci/absent in';
    expect(stderr).toContain(`${warning} eu/dev-1, eu/prod-1: `);
    expect(stderr).toContain(`${warning} us/prod-1, us/stage-1: `);
    expect(stderr).not.toContain('Next:');
  });
});

describe('exec', () => {
  const PRINT = ['--', 'sh', '-c', 'echo "$CLUSTERPASS_CLUSTER $CLUSTERPASS_SERVER"'];

  it('runs in the clusters of both, by selector or name', async () => {
    const printed = await jane.ok([...EXEC, '-l', 'env=prod', ...PRINT]);
    expect(printed.trimEnd().split('\n').sort()).toEqual([
      `eu/prod-1: prod-1 ${eu.url}`,
      `us/prod-1: prod-1 ${us.url}`,
    ]);
    expect(await jane.ok([...EXEC, '--cluster', 'us/prod-1', ...PRINT])).toBe(`us/prod-1: prod-1 ${us.url}\n`);
    expect(await jane.ok([...EXEC, '--cluster', 'dev-1', ...PRINT])).toBe(`eu/dev-1: dev-1 ${eu.url}\n`);
  });

  it('gives the command no token of a variable, which may be for another server', async () => {
    const print = ['--', 'sh', '-c', 'echo "$CLUSTERPASS_SERVER $CLUSTERPASS_TOKEN"'];
    const env = { CLUSTERPASS_SERVER: 'eu', CLUSTERPASS_TOKEN: tokenOf('jane') };
    const at = (server: string) => jane.ok([...EXEC, '--server', server, '-l', 'env=prod', ...print], { env });
    expect(await at('us')).toBe(`prod-1: ${us.url} \n`);
    expect(await at('eu')).toBe(`prod-1: ${eu.url} \n`);
  });

  it('refuses a name that both have', async () => {
    expect(await jane.fails([...EXEC, '--cluster', 'prod-1', ...PRINT])).toBe(
      'error: prod-1: several servers have it: write eu/prod-1 or us/prod-1\n',
    );
    expect(await jane.fails([...EXEC, '--cluster', 'us/nope', ...PRINT])).toContain(
      'error: us/nope: there is no such cluster that you may see\n',
    );
  });
});

describe('a server that is down', () => {
  const DOWN = /^error: server us: Unable to connect to the server: http.* cannot be reached: .*$/m;
  const PRINT = ['--', 'sh', '-c', 'echo ran'];

  beforeAll(async () => {
    await writeFile(join(jane.home, 'down'), await readFile(join(jane.home, 'both')));
    await us.stop();
  });

  it('is named, and does not fail the other', async () => {
    const list = await jane.run(['get', 'clusters', '--no-headers']);
    expect(list).toMatchObject({ code: 1, stdout: expect.stringMatching(/^eu +dev-1 .*\neu +prod-1 .*\n$/) });
    expect(list.stderr).toMatch(DOWN);
    const described = await jane.run(['describe', 'cluster', 'dev-1']);
    expect(described).toMatchObject({ code: 1, stdout: expect.stringMatching(/^Name: +dev-1\n/) });
    expect(described.stderr).toMatch(DOWN);
    const run = await jane.run([...EXEC, '-l', 'env=prod', ...PRINT]);
    expect(run).toMatchObject({ code: 1, stdout: 'eu/prod-1: ran\n' });
    expect(run.stderr).toMatch(DOWN);
    const written = await jane.run([...KUBECONFIG, '--prune', '--output', 'down']);
    expect(written.code).toBe(1);
    expect(written.stderr).toMatch(DOWN);
    expect(Object.keys(await contexts('down'))).toEqual(['eu/dev-1', 'eu/prod-1', 'us/prod-1', 'us/stage-1']);
  });

  it('may have a cluster of the same name, so exec needs the server of a name', async () => {
    expect(await jane.fails([...EXEC, '--cluster', 'dev-1', ...PRINT])).toMatch(
      /^error: dev-1: a server that did not answer may have it, too: write eu\/dev-1$/m,
    );
    expect(await jane.ok([...EXEC, '--cluster', 'eu/dev-1', ...PRINT])).toBe('eu/dev-1: ran\n');
  });
});

describe('a server that is hostile', () => {
  it('cannot write lines that are names of another server, nor control characters', async () => {
    const item = { metadata: { name: 'x\ncluster.clusterregistry.k8s.io/eu/prod-1', uid: '1' } };
    const hostile = createServer((request, response) => {
      response.setHeader('Content-Type', 'application/json');
      // CSI in eight bits, which colours and moves as ESC [ does.
      response.setHeader('Warning', '299 - "\x9b2J"');
      const review = { status: { userInfo: { username: 'jane' } } };
      const list = { metadata: { resourceVersion: '1' }, items: [item] };
      response.end(JSON.stringify(request.url?.includes('selfsubjectreviews') ? review : list));
    }).listen(0, '127.0.0.1');
    await once(hostile, 'listening');
    const { port } = hostile.address() as AddressInfo;
    const person = await Person.at();
    try {
      for (const [name, url] of Object.entries({ eu: eu.url, hostile: `http://127.0.0.1:${port}` })) {
        await person.ok(['login', '--name', name, '--server', url, '--token-file', '-'], { stdin: tokenOf('jane') });
      }
      const { code, stdout, stderr } = await person.run(['get', 'clusters', '-o', 'name', '-l', 'env=dev']);
      expect([code, stdout]).toEqual([1, 'cluster.clusterregistry.k8s.io/eu/dev-1\n']);
      expect(stderr).toMatch(/^Warning: .*\?2J$/m);
      expect(stderr).not.toContain('\x9b');
      expect(stderr).toContain('server hostile: the server sent a cluster whose name is not valid: "x?cluster');
    } finally {
      hostile.close();
      hostile.closeAllConnections();
    }
  });
});
