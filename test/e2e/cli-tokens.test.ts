import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { namesIn, Person } from './support/cli.ts';
import { bind, codeFor, createObjects, issue } from './support/objects.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** clusterpass create token, credential, and token. */

const server = sharedServer();

beforeAll(async () => {
  await createObjects(server);
  await bind(server, 'jane-issues', { kind: 'User', name: 'jane' });
});

describe('create', () => {
  let jane: Person;

  beforeEach(async () => {
    jane = await Person.as(server, 'jane');
  });

  const CREATE = ['create', 'token', 'builder', '-n', 'ci', '--cluster', 'alpha'];
  const CREDENTIAL = ['credential', '--cluster', 'alpha', '--as', 'ci/builder'];

  // biome-ignore lint/suspicious/noExplicitAny: tests look into claims of every shape
  const claimsOf = (token: string): any => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

  describe('clusterpass create token', () => {
    it('writes the token alone', async () => {
      const { code, stdout, stderr } = await jane.run(CREATE);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      // Python's client would send a newline, and show the token in its error.
      expect(stdout).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
      expect(claimsOf(stdout).sub).toBe('system:serviceaccount:ci:builder');
    });

    it('with audiences, a duration and an object it is bound to', async () => {
      const flags = ['--audience', 'vault', '--audience', 'b', '--duration', '10m', '--bound-object-kind', 'Pod'];
      const token = await jane.ok([...CREATE, ...flags, '--bound-object-name', 'web-0']);
      const claims = claimsOf(token);
      expect(claims.aud).toEqual(['vault', 'b']);
      expect(claims.exp - claims.iat).toBe(600);
      expect(claims['kubernetes.io'].pod.name).toBe('web-0');
    });

    it('warnings go to stderr, as they do in kubectl', async () => {
      const { stdout, stderr } = await jane.run([...CREATE, '--duration', '1000h']);
      expect(stderr).toBe('Warning: requested expiration of 3600000 seconds shortened to 86400 seconds\n');
      expect(stdout).toMatch(/^eyJ/);
    });

    it('requires a lifetime on request, and warns when the cluster will not accept the token', async () => {
      const short = await jane.run([...CREATE, '--duration', '1000h', '--min-duration', '25h']);
      expect({ code: short.code, stdout: short.stdout }).toEqual({ code: 1, stdout: '' });
      expect(short.stderr).toContain('the longest lifetime that is granted here is 24h');
      const flags = ['--duration', '24h', '--min-duration', '24h', '--for-cluster'];
      const { code, stderr } = await jane.run([...CREATE, ...flags, '--audience', 'vault']);
      expect(code).toBe(0);
      expect(stderr).toMatch(/^Warning: this token will not open the API of cluster "alpha": [^\n]*\n$/);
    });

    it('-o json and yaml; --dry-run server', async () => {
      expect(JSON.parse(await jane.ok([...CREATE, '-o', 'json']))).toMatchObject({
        kind: 'TokenRequest',
        status: { token: expect.stringMatching(/^eyJ/) },
      });
      expect(await jane.ok([...CREATE, '-o', 'yaml'])).toMatch(/^kind: TokenRequest$/m);
      const { stdout, stderr } = await jane.run([...CREATE, '--dry-run', 'server']);
      expect(stdout).toBe('');
      expect(stderr).toMatch(/^The token would expire at \d{4}-/);
    });

    it.each([
      [['create', 'token', 'builder'], 'error: --cluster is required'],
      [
        ['create', 'token', 'ci/builder', '--cluster', 'alpha'],
        'error: "ci/builder" is not the name of a service account: use builder -n ci\n',
      ],
      [[...CREATE, '--duration', 'soon'], 'error: --duration: "soon" is not a duration'],
      [[...CREATE, '--min-duration', '-1h'], 'error: --min-duration: "-1h" is not a duration'],
      [[...CREATE, '--bound-object-name', 'x'], 'error: --bound-object-name can only be set if'],
      [[...CREATE, '--bound-object-kind', 'Pod'], 'error: --bound-object-name is required if'],
      [
        [...CREATE, '--bound-object-kind', 'Node', '--bound-object-name', 'x'],
        'error: --bound-object-kind: "Node" must be one of Pod, Secret',
      ],
      [[...CREATE, '--duration', '1m'], 'Error from server (Invalid): '],
      [
        ['create', 'token', 'nobody', '-n', 'ci', '--cluster', 'alpha'],
        'Error from server (NotFound): serviceaccounts "nobody" not found',
      ],
    ])('%j: %s', async (args, message) => {
      expect(await jane.fails(args)).toContain(message);
    });
  });

  describe('clusterpass credential (section 7)', () => {
    it.each(['v1', 'v1beta1'])('E-03, E-05: answers in the version that was asked for: %s', async (version) => {
      const apiVersion = `client.authentication.k8s.io/${version}`;
      const info = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec: { interactive: false } });
      const stdout = await jane.ok(CREDENTIAL, { env: { KUBERNETES_EXEC_INFO: `${info}\n` } });
      const credential = JSON.parse(stdout);
      expect(credential).toEqual({
        kind: 'ExecCredential',
        apiVersion,
        spec: {},
        status: {
          expirationTimestamp: expect.stringMatching(/^[\d-]+T[\d:]+Z$/),
          token: expect.stringMatching(/^eyJ/),
        },
      });
      // E-05: before the token ends, because kubectl asks again only after this time.
      const { exp, iat } = claimsOf(credential.status.token);
      const share = (exp - Date.parse(credential.status.expirationTimestamp) / 1000) / (exp - iat);
      expect(share).toBeCloseTo(0.2, 1);
    });

    it('an expired login, and an account that does not exist, are one sentence each', async () => {
      expect(await jane.fails(CREDENTIAL, { env: { CLUSTERPASS_TOKEN: 'expired' } })).toBe(
        'error: the server refused the token in CLUSTERPASS_TOKEN\n',
      );
      expect(await jane.fails(['credential', '--cluster', 'alpha', '--as', 'ci/nobody'])).toBe(
        'Error from server (NotFound): serviceaccounts "nobody" not found\n',
      );
      const without = await jane.fails(['credential', '--cluster', 'alpha'], { exitCode: 2 });
      expect(without).toMatch(/^error: --as .* is required\n$/);
    });
  });
});

describe('list and revoke', () => {
  let admin: Person;
  let jane: Person;

  beforeAll(async () => {
    [admin, jane] = await Promise.all([Person.as(server), Person.as(server, 'jane')]);
    // The tokens of the tests above are listed, too.
    const names = namesIn((await admin.run(['token', 'list', '-o', 'name'])).stdout);
    await admin.run(['token', 'revoke', ...names]);
  });

  const CREATE = ['create', 'token', 'builder', '-n', 'ci', '--cluster', 'alpha'];
  const jtiOf = (token: string): string => decodeJwt(token).jti ?? '';
  const ONLY_TRACKED = 'Only tracked passes are listed: others, e.g. those that kubectl uses, have no record.';
  /** A44: the cluster does not notice, so the command says until when it accepts the token. */
  const stillAccepted = (audience: string, token: string): string => {
    const until = new Date((decodeJwt(token).exp ?? 0) * 1000).toISOString().replace('.000Z', 'Z');
    return `Clusterpass and TokenReviews refuse it from now on. Clusters and services with the audience ${audience} that verify it with the key set accept it until ${until}.\n`;
  };

  describe('clusterpass token', () => {
    it('a tracked pass is listed, and revoked by its id', async () => {
      const { stdout, stderr } = await jane.run([...CREATE, '--tracked']);
      const token = stdout.trim();
      const jti = jtiOf(token);
      expect(stderr).toBe(`To revoke this token: clusterpass token revoke ${jti}\n`);

      const rows = (await jane.ok(['token', 'list'])).split('\n').map((row) => row.split(/ {2,}/));
      expect(rows[0]).toEqual(['NAME', 'CLUSTER', 'ACCOUNT', 'AUDIENCE', 'CALLER', 'ISSUED', 'EXPIRES']);
      expect(rows[1]?.slice(0, 5)).toEqual([jti, 'alpha', 'ci/builder', `${server.url}/orchestrator/alpha`, 'jane']);
      expect(await admin.ok(['token', 'list', '-o', 'name', '--cluster', 'alpha'])).toBe(
        `issuedtoken.clusterpass.dev/${jti}\n`,
      );
      expect(await admin.run(['token', 'list', '--cluster', 'beta'])).toEqual({
        code: 0,
        stdout: '',
        stderr: `No resources found\n${ONLY_TRACKED}\n`,
      });

      const revoked = await jane.run(['token', 'revoke', jti.toUpperCase()]);
      expect(revoked).toEqual({
        code: 0,
        stdout: `token ${jti} revoked at ${server.url}\n`,
        stderr: stillAccepted(`${server.url}/orchestrator/alpha`, token),
      });
      expect(await codeFor(server, token)).toBe(401);
    });

    it('A44: is tracked unless it is declined, and the list says what it leaves out', async () => {
      const token = (await jane.ok(CREATE)).trim();
      const declined = (await jane.ok([...CREATE, '--no-tracked'])).trim();
      const { stdout, stderr } = await jane.run(['token', 'list']);
      expect([stdout.includes(jtiOf(token)), stdout.includes(jtiOf(declined))]).toEqual([true, false]);
      expect(stderr).toBe(`${ONLY_TRACKED}\n`);
      await jane.ok(['token', 'revoke', jtiOf(token)]);
    });

    it('a token on stdin is revoked, and neither printed nor sent', async () => {
      const token = await issue(server);
      const result = await admin.run(['token', 'revoke', '-'], { stdin: `${token}\n` });
      expect(result).toEqual({
        code: 0,
        stdout: `token ${jtiOf(token)} revoked at ${server.url}\n`,
        stderr: stillAccepted(`${server.url}/orchestrator/alpha`, token),
      });
      expect(await codeFor(server, token)).toBe(401);
      const id = randomUUID();
      expect(await admin.run(['token', 'revoke', '-'], { stdin: id })).toEqual({
        code: 0,
        stdout: `token ${id} revoked at ${server.url}\n`,
        stderr:
          'Clusterpass and TokenReviews refuse it from now on. Clusters and services that verify it with the key set accept it until it expires.\n',
      });
      expect(server.output.stderr).not.toContain('eyJ');
    });

    it('a token of another issuer is not reported as revoked: its verifiers do not ask here', async () => {
      const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const jti = randomUUID();
      for (const iss of [
        'https://kubernetes.default.svc.cluster.local',
        'https://elsewhere.example/orchestrator/alpha',
        `${server.url}/orchestrator/../alpha`,
        `${server.url}/nowhere/alpha`,
        `${server.url}/orchestrator/alpha/`,
      ]) {
        const stdin = `${segment({ alg: 'ES256' })}.${segment({ jti, iss })}.c2ln`;
        for (const dryRun of ['none', 'client']) {
          expect(await admin.run(['token', 'revoke', '-', '--dry-run', dryRun], { stdin })).toEqual({
            code: 1,
            stdout: '',
            stderr: `error: token ${jti} was issued by ${iss} and must be revoked there\n`,
          });
        }
      }
    });

    it('takes an id in the form of audit logs, too', async () => {
      const [one, other] = [
        jtiOf(await jane.ok([...CREATE, '--tracked'])),
        jtiOf(await jane.ok([...CREATE, '--tracked'])),
      ];
      const revoked = (id: string): string => `token ${id} revoked at ${server.url}\n`;
      expect(await jane.ok(['token', 'revoke', `JTI=${one}`])).toBe(revoked(one));
      expect(await jane.ok(['token', 'revoke', '-'], { stdin: `JTI=${other}\n` })).toBe(revoked(other));
    });

    it('a token that may not be revoked does not stop the others', async () => {
      const token = (await jane.ok([...CREATE, '--tracked'])).trim();
      const unknown = randomUUID();
      const { code, stdout, stderr } = await jane.run(['token', 'revoke', unknown, jtiOf(token)]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: `token ${jtiOf(token)} revoked at ${server.url}\n` });
      expect(stderr).toContain(`issuedtokens.clusterpass.dev "${unknown}" is forbidden`);
    });

    it('text that is neither a token nor an id is not repeated', async () => {
      for (const stdin of [
        '',
        'secret',
        'a.secret.c',
        `eyJh.${Buffer.from('{"jti":1}').toString('base64url')}.secret`,
      ]) {
        expect(await admin.fails(['token', 'revoke', '-'], { stdin })).toBe(
          'error: stdin is neither a token nor a token ID (a UUID, the claim jti)\n',
        );
      }
      expect(await admin.fails(['token', 'revoke', randomUUID(), 'secret'])).toBe(
        'error: argument 2 is neither a token nor a token ID (a UUID, the claim jti); for a token in a file: clusterpass token revoke - < FILE\n',
      );
      expect(await admin.fails(['token', 'revoke', '-', '--token-file', '-'])).toContain(
        'stdin cannot be both the token to revoke',
      );
      await writeFile(join(jane.home, 'token'), tokenOf('jane'));
      const other = await jane.fails(['token', 'revoke', '-', '--token-file', 'token'], { stdin: randomUUID() });
      expect(other).toContain('is forbidden');
    });
  });

  it('the typed client', async () => {
    const client = createClient({ server: server.url, token: tokenOf('jane') });
    const account = { cluster: 'alpha', namespace: 'ci', name: 'builder' };
    const { token } = await client.createToken({ ...account, tracked: true, audiences: ['vault'] });
    const [tracked, ...others] = await client.listIssuedTokens({ fieldSelector: 'spec.cluster=alpha' });
    expect(others).toEqual([]);
    expect([tracked?.metadata.name, tracked?.spec.audiences]).toEqual([jtiOf(token), ['vault']]);
    await client.revokeToken(jtiOf(token));
    expect(await client.listIssuedTokens()).toEqual([]);
    await expect(client.revokeToken(randomUUID())).rejects.toMatchObject({ code: 403 });
    await expect(client.revokeToken('../clusters/alpha')).rejects.toThrow(TypeError);
  });
});
