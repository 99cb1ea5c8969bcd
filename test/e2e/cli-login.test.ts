import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { scriptServer, status } from '../../src/client/script-server.fixture.ts';
import { Person, userIn } from './support/cli.ts';
import { addCluster, grantClusters } from './support/fleet.ts';
import { TLS, tokenOf } from './support/server.ts';
import { sharedServer, sharedTlsServer } from './support/shared-server.ts';

const server = sharedServer();
let person: Person;

beforeAll(async () => {
  await addCluster(server, 'dev-1');
  await grantClusters(server, 'tom-sees', 'tom');
});
beforeEach(async () => {
  person = await Person.at();
});

async function logIn(): Promise<void> {
  await person.ok(['login', '--server', server.url, '--token-file', '-'], { stdin: `${tokenOf('tom')}\n` });
}

describe('clusterpass login', () => {
  // With another product name: objects-product-name.test.ts.
  it('tests the token, and stores it for its owner only', async () => {
    const said = await person.ok(['login', '--server', `${server.url}/`, '--token', tokenOf('tom')]);
    expect(said).toBe(`Logged in to ${server.url} as "tom".\n`);
    expect(JSON.parse(await readFile(person.loginsFile, 'utf8'))).toEqual({
      current: server.url,
      logins: { [server.url]: { token: tokenOf('tom'), productName: 'orchestrator' } },
    });
    expect((await stat(person.loginsFile)).mode & 0o777).toBe(0o600);
    expect((await stat(join(person.loginsFile, '..'))).mode & 0o777).toBe(0o700);
  });

  it('a wrong token is refused and not stored', async () => {
    expect(await person.fails(['login', '--server', server.url, '--token', 'wrong'])).toBe(
      'error: the server refused the token of --token\n',
    );
    await expect(stat(person.loginsFile)).rejects.toThrow('ENOENT');
  });

  it('names what is missing, and never prompts', async () => {
    expect(await person.fails(['login', '--server', server.url])).toMatch(
      /^error: \S+ names no identity provider: set --issuer-url URL and --client-id ID, or --token-file FILE/,
    );
    expect(await person.fails(['login'])).toMatch(
      /^error: set --server URL, and, if it names no .*--issuer-url URL .*--token-file FILE/,
    );
    expect(await person.fails(['whoami'])).toMatch(/^error: no server: run clusterpass login/);
    expect(await person.fails(['whoami', '--server', server.url])).toMatch(/^error: not logged in to http/);
  });

  it('stores the token in the file of CLUSTERPASS_TOKEN_FILE', async () => {
    await writeFile(join(person.home, 'token'), tokenOf('tom'));
    const env = { CLUSTERPASS_TOKEN_FILE: join(person.home, 'token') };
    expect(await person.ok(['login', '--server', server.url], { env })).toContain('Logged in to');
    expect(await person.ok(['whoami'])).toContain('tom');
  });

  it('a token that no header can carry is not repeated', async () => {
    const secret = 'geheim\u0007nis';
    const said = await person.fails(['login', '--server', server.url, '--token', secret]);
    expect(said).toBe('error: the token of --token is empty or not a bearer token\n');
  });
});

describe('a token is sent only to its own server:', () => {
  /** Records requests, and refuses them. */
  let other: Awaited<ReturnType<typeof scriptServer>>;
  const sentToOther = (): string[] => other.requests.flatMap(({ authorization }) => authorization ?? []);

  beforeEach(async () => {
    other = await scriptServer(Array.from({ length: 8 }, () => status(401, 'Unauthorized')));
    await logIn();
  });
  afterEach(() => other.close());

  const variables = () => ({ CLUSTERPASS_SERVER: `${server.url}/`, CLUSTERPASS_TOKEN: tokenOf('tom') });

  async function logInToOther(current: string): Promise<void> {
    const found = JSON.parse(await readFile(person.loginsFile, 'utf8'));
    const logins = { ...found.logins, [other.url]: { token: 'of-other' } };
    await writeFile(person.loginsFile, JSON.stringify({ current, logins }));
  }

  it('that of a login', async () => {
    const said = await person.fails(['whoami', '--server', other.url]);
    expect(said).toContain(`error: not logged in to ${other.url}`);
    expect(sentToOther()).toEqual([]);
  });

  it('that of a variable, if CLUSTERPASS_SERVER names the server', async () => {
    const file = join(person.home, 'token');
    await writeFile(file, tokenOf('tom'));
    const { CLUSTERPASS_SERVER, CLUSTERPASS_TOKEN } = variables();
    for (const [name, value] of Object.entries({ CLUSTERPASS_TOKEN, CLUSTERPASS_TOKEN_FILE: file })) {
      const env = { CLUSTERPASS_SERVER, [name]: value };
      for (const command of [['whoami'], ['login'], ['credential', '--cluster', 'dev-1', '--as', 'ci/builder']]) {
        await person.fails([...command, '--server', other.url], { env });
      }
      expect(await person.fails(['whoami', '--server', other.url], { env })).toContain('not logged in to');
      expect(await person.ok(['whoami', '--server', server.url], { env })).toContain('tom');
    }
    expect(sentToOther()).toEqual([]);
    await logInToOther(server.url);
    await person.fails(['whoami', '--server', other.url], { env: variables() });
    expect(sentToOther()).toEqual(['Bearer of-other']);
  });

  it('that of a variable without CLUSTERPASS_SERVER is for the chosen server', async () => {
    await person.fails(['whoami', '--server', other.url], { env: { CLUSTERPASS_TOKEN: 'for-any' } });
    expect(sentToOther()).toEqual(['Bearer for-any']);
  });

  it.each([
    ['the current login', [], 1],
    ['every login', ['--all'], 2],
  ])('a logout from %s uses the login only', async (_, flags, ended) => {
    await logInToOther(other.url);
    const env = { ...variables(), CLUSTERPASS_SERVER: other.url };
    const said = await person.ok(['logout', ...flags], { env });
    expect(said.match(/Logged out of/g)).toHaveLength(ended);
    await logInToOther(other.url);
    await person.ok(['logout', ...flags], { env: { CLUSTERPASS_TOKEN: tokenOf('tom') } });
    expect(sentToOther()).toEqual(['Bearer of-other', 'Bearer of-other']);
  });
});

describe('clusterpass whoami', () => {
  it('shows the user as the server sees it', async () => {
    await logIn();
    expect(await person.ok(['whoami'])).toBe(
      'ATTRIBUTE   VALUE\nUsername    tom\nUID         uid-tom\nGroups      [team-shop system:authenticated]\n',
    );
    const review = JSON.parse(await person.ok(['whoami', '-o', 'json']));
    expect(review.status.userInfo.username).toBe('tom');
    expect(await person.ok(['whoami', '-o', 'yaml'])).toMatch(/^ {4}username: tom$/m);
  });

  it('the error for a refused token names its source: a flag, a file, a variable or the login', async () => {
    const file = join(person.home, 'token');
    await writeFile(file, 'wrong-in-file');
    const refused = 'error: You must be logged in to the server (Unauthorized), ';
    const whoami = ['whoami', '--server', server.url];
    const fails = (flags: string[], options = {}) => person.fails([...whoami, ...flags], options);
    const env = { CLUSTERPASS_TOKEN: 'wrong' };
    expect(await fails([], { env })).toBe(`${refused}the token in CLUSTERPASS_TOKEN\n`);
    await logIn();
    expect(await fails([], { env: { CLUSTERPASS_TOKEN_FILE: file } })).toBe(
      `${refused}the token in ${file} (CLUSTERPASS_TOKEN_FILE)\n`,
    );
    expect(await fails(['--token-file', file], { env })).toBe(`${refused}the token in ${file}\n`);
    expect(await fails(['--token', 'wrong'], { env })).toBe(`${refused}the token of --token\n`);
    expect(await fails(['--token-file', '-'], { stdin: 'wrong' })).toBe(`${refused}the token on stdin\n`);
    await writeFile(person.loginsFile, (await readFile(person.loginsFile, 'utf8')).replace(tokenOf('tom'), 'expired'));
    expect(await person.fails(whoami)).toBe(
      `${refused}the login for ${server.url}: run clusterpass login --server ${server.url}\n`,
    );
  });
});

describe('clusterpass logout', () => {
  it('deletes the login and the tokens that were fetched with it, and nothing else', async () => {
    await logIn();
    await writeFile(join(person.home, 'kubeconfig'), 'kept');
    expect(await person.ok(['logout'])).toBe(`Logged out of ${server.url}.\n`);
    expect(JSON.parse(await readFile(person.loginsFile, 'utf8'))).toEqual({ logins: {} });
    expect(await person.fails(['logout'])).toBe('error: not logged in\n');
    expect(await readFile(join(person.home, 'kubeconfig'), 'utf8')).toBe('kept');
  });

  it('of the current login keeps the others: the only one left becomes the current one, and of several none does', async () => {
    await logIn();
    const [second, third] = ['localhost', '127.0.0.2'].map((host) => server.url.replace('127.0.0.1', host));
    const { logins } = JSON.parse(await readFile(person.loginsFile, 'utf8'));
    const [login] = Object.values(logins);
    const all = { [server.url]: login, [`${second}`]: login, [`${third}`]: login };
    await writeFile(person.loginsFile, JSON.stringify({ current: third, logins: all }), { mode: 0o600 });
    expect(await person.run(['logout'])).toEqual({
      code: 0,
      stdout: `Logged out of ${third}.\n`,
      stderr: `Still logged in to ${server.url}, ${second}.\n`,
    });
    const both = `(${server.url}, ${second})`;
    expect(await person.fails(['whoami'])).toBe(
      `error: no current login: choose one with clusterpass servers use, or set --server ${both}\n`,
    );
    expect(await person.fails(['logout'])).toBe(
      `error: no current login: select one with --server ${both} or use --all\n`,
    );
    // A command over all servers needs no current one.
    expect(await person.run(['get', 'clusters'])).toMatchObject({ code: 0 });
    expect(await person.run(['logout', '--server', `${second}`])).toMatchObject({
      code: 0,
      stderr: `Still logged in to ${server.url}.\n`,
    });
    expect(await person.ok(['whoami'])).toContain('tom');
    expect(await person.run(['get', 'clusters'])).toMatchObject({ code: 0 });
    expect(await person.run(['logout'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('of the server in CLUSTERPASS_SERVER keeps the current login', async () => {
    await logIn();
    const env = { CLUSTERPASS_SERVER: server.url.replace('127.0.0.1', 'localhost') };
    expect(await person.fails(['logout'], { env })).toContain(`not logged in to ${env.CLUSTERPASS_SERVER}`);
    expect(await person.ok(['whoami'])).toContain('tom');
  });

  it('--all deletes all logins', async () => {
    await logIn();
    const second = server.url.replace('127.0.0.1', 'localhost');
    await person.ok(['login', '--server', second, '--token', tokenOf('tom')]);
    expect(await person.ok(['logout', '--all'])).toBe(`Logged out of ${server.url}.\nLogged out of ${second}.\n`);
    expect(JSON.parse(await readFile(person.loginsFile, 'utf8'))).toEqual({ logins: {} });
    expect(await person.fails(['whoami'])).toMatch(/no server/);
  });
});

describe('TLS', () => {
  const secure = sharedTlsServer();
  it('trusts the authority that is given, and remembers it', async () => {
    const login = ['login', '--server', secure.url, '--token', secure.adminToken];
    // In a separate process: this one trusts the CA since it started the server.
    expect(await person.fails(login, { inProcess: false })).toBe(
      `Unable to connect to the server: ${secure.url} cannot be reached: no trusted authority has signed its certificate; ` +
        'if you trust it, pass its CA with --certificate-authority FILE\n',
    );
    await person.ok([...login, '--certificate-authority', TLS.caFile]);
    expect(userIn(await person.ok(['whoami', '-o', 'json']))).toBe('admin');
    const env = { CLUSTERPASS_CA: TLS.caFile, CLUSTERPASS_TOKEN: secure.adminToken };
    expect(await person.ok(['get', 'clusters', '--server', secure.url], { env })).toBe('');
  });

  it('or no CA at all, on request', async () => {
    const flags = ['--server', secure.url, '--token', secure.adminToken, '--insecure-skip-tls-verify'];
    expect(userIn(await person.ok(['whoami', '-o', 'json', ...flags]))).toBe('admin');
  });
});
