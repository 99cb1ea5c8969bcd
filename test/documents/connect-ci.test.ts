import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { addCluster } from '../e2e/support/fleet.ts';
import { type IdentityProvider, startProvider } from '../e2e/support/provider.ts';
import { type Server, startServer } from '../e2e/support/server.ts';
import { execute, isRun } from './support/blocks.ts';
import { installClusterpass } from './support/clusterpass.ts';
import { BLOCKS, fileOf } from './support/connect-pages.ts';
import { everyCommandWasRun } from './support/every-command.ts';

/** docs/connect/ci.md with a real server: its files are loaded, and its jobs run up to kubectl. */

const AUDIENCE = 'https://clusterpass.example.com';

const GITHUB = {
  aud: AUDIENCE,
  repository: 'octo-org/shop',
  repository_id: '456',
  repository_owner: 'octo-org',
  repository_owner_id: '123456',
  ref: 'refs/heads/main',
  event_name: 'push',
  run_id: '7',
  workflow_ref: 'octo-org/shop/.github/workflows/deploy.yaml@refs/heads/main',
};
const GITLAB = {
  aud: AUDIENCE,
  project_path: 'acme/shop',
  project_id: '22',
  namespace_id: '72',
  ref: 'main',
  ref_type: 'branch',
  ref_protected: 'true',
  pipeline_id: '1212',
  user_login: 'jane',
};

let folder: string;
let github: IdentityProvider;
let gitlab: IdentityProvider;
let server: Server;

/** The entry of a page, for another issuer. */
const entryFor = (file: string, { url, ca }: IdentityProvider): object => {
  const [entry] = parse(fileOf(file)).jwt;
  return { ...entry, issuer: { ...entry.issuer, url, certificateAuthority: ca } };
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-ci-'));
  [github, gitlab] = await Promise.all([startProvider(), startProvider()]);
  const jwt = [entryFor('github-actions.yaml', github), entryFor('gitlab.yaml', gitlab)];
  const file = join(folder, 'authentication.yaml');
  await writeFile(file, stringify({ ...parse(fileOf('github-actions.yaml')), jwt }));
  server = await startServer({ args: ['--authentication-config', file] });
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://api.example.com:6443' }];
  const spec = { orchestratorApiEndpoints: { serverEndpoints } };
  await addCluster(server, 'prod-eu-1', { labels: { env: 'prod' }, spec });
  await addCluster(server, 'dev-eu-1', { labels: { env: 'dev' }, spec });
  installClusterpass(folder);
  await writeFile(join(folder, 'ci-rbac.yaml'), fileOf('ci-rbac.yaml'));
  const admin = { CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: server.adminToken };
  for (const block of BLOCKS.filter((one) => one.page === 'docs/connect/ci.md' && isRun(one)))
    await execute(block, (text) => runStep(text, admin));
});
afterAll(async () => {
  await server.destroy();
  await Promise.all([github.close(), gitlab.close()]);
  await rm(folder, { recursive: true, force: true });
});

type Env = Readonly<Record<string, string>>;

/** A step of a job, with the shell that runs it there. */
async function runStep(script: string, env: Env): Promise<void> {
  const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const [code] = await once(child, 'close');
  expect(code, `${script}\n${output}`).toBe(0);
}

/** What kubectl gets when it runs the command in the kubeconfig. */
async function passIn(kubeconfig: string, env: Env): Promise<Record<string, unknown>> {
  const { contexts, users } = parse(await readFile(kubeconfig, 'utf8'));
  expect(contexts.map(({ name }: { name: string }) => name)).toEqual(['prod-eu-1']);
  const { command, args } = users[0].user.exec;
  const output = join(folder, 'credential.json');
  await runStep(`'${command}' ${args.map((arg: string) => `'${arg}'`).join(' ')} > '${output}'`, env);
  return decodeJwt(JSON.parse(await readFile(output, 'utf8')).status.token);
}

describe('the workflow for GitHub Actions', () => {
  const workflow = parse(fileOf('deploy.yaml'));
  const { steps, environment } = workflow.jobs.deploy;
  const stepOf = (name: string): string => steps.find((step: { name?: string }) => step.name === name)?.run ?? '';
  let service: HttpServer;

  beforeAll(async () => {
    service = createServer(async (request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x');
      const permitted = request.headers.authorization === 'Bearer request-token';
      response.writeHead(permitted ? 200 : 401);
      const value = await github.sign({ ...GITHUB, environment, aud: searchParams.get('audience') });
      // As GitHub's service does: the value is one of several members.
      response.end(JSON.stringify({ count: 1, value: permitted ? value : '' }));
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
  });
  afterAll(() => service.close());

  it('may request an ID token', () => {
    expect(workflow.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(workflow.defaults.run.shell).toBe('bash');
  });

  it('gets a pass for the account, in production', async () => {
    const settings = join(folder, 'github.env');
    await runStep(stepOf('Keep all files in the folder of this job'), { RUNNER_TEMP: folder, GITHUB_ENV: settings });
    const lines = (await readFile(settings, 'utf8')).trim().split('\n');
    const env: Env = {
      ...Object.fromEntries(lines.map((line) => line.split('=', 2))),
      CLUSTERPASS_SERVER: server.url,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
      ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}/token?api-version=2.0`,
    };
    // The audience is the public address of the server, and the test's server has another one.
    const login = stepOf('Log in to Clusterpass').replace('audience=$CLUSTERPASS_SERVER', `audience=${AUDIENCE}`);
    await runStep(login, env);
    await runStep(stepOf('Write a kubeconfig'), env);
    expect(await passIn(env.KUBECONFIG ?? '', env)).toMatchObject({ sub: 'system:serviceaccount:shop:deployer' });
  });

  it('leaves nothing for the other steps but kubectl', () => {
    expect(stepOf('Deploy')).toMatch(/^kubectl --context prod-eu-1 /);
    expect(steps.filter((step: { run?: string }) => step.run !== undefined)).toHaveLength(5);
  });
});

describe('the job for GitLab', () => {
  it('gets a pass for the account, from the protected branch', async () => {
    const { deploy } = parse(fileOf('gitlab-ci.yml'));
    expect(deploy.id_tokens).toEqual({ CLUSTERPASS_TOKEN: { aud: AUDIENCE } });
    const env: Env = {
      ...deploy.variables,
      CLUSTERPASS_SERVER: server.url,
      CLUSTERPASS_TOKEN: await gitlab.sign(GITLAB),
      XDG_CACHE_HOME: join(folder, 'gitlab-cache'),
      KUBECONFIG: join(folder, 'gitlab-kubeconfig'),
    };
    const [kubeconfig, deployment] = deploy.script;
    expect(deployment).toMatch(/^kubectl --context prod-eu-1 /);
    await runStep(kubeconfig, env);
    expect(await passIn(env.KUBECONFIG ?? '', env)).toMatchObject({ sub: 'system:serviceaccount:shop:deployer' });
  });
});

const CREATE = '/orchestrator/prod-eu-1/api/v1/namespaces/shop/serviceaccounts/deployer/token';

/** Why a token is refused, as an administrator learns it. */
async function reasonFor(provider: IdentityProvider, claims: object): Promise<string> {
  const body = { spec: { token: await provider.sign(claims) } };
  const { json } = await server.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body });
  return json.status.error;
}

describe('other jobs', () => {
  const codeFor = async (provider: IdentityProvider, claims: object): Promise<number> =>
    (await server.call('POST', CREATE, { token: await provider.sign(claims), body: { spec: { audiences: [] } } })).code;

  it('are refused a pass, or are not authenticated', async () => {
    const production = { ...GITHUB, environment: 'production' };
    expect(await codeFor(github, production)).toBe(201);
    expect(await codeFor(github, GITHUB)).toBe(403);
    expect(await codeFor(github, { ...GITHUB, ref: 'refs/pull/7/merge', event_name: 'pull_request' })).toBe(403);
    expect(await codeFor(github, { ...production, repository: 'octo-org/other' })).toBe(403);
    expect(await codeFor(github, { ...production, repository_owner_id: '9' })).toBe(401);
    expect(await codeFor(github, { ...production, event_name: 'pull_request_target' })).toBe(401);
    expect(await codeFor(github, { ...production, aud: 'https://github.com/octo-org' })).toBe(401);
    expect(await codeFor(gitlab, GITLAB)).toBe(201);
    expect(await codeFor(gitlab, { ...GITLAB, ref: 'feature' })).toBe(403);
    expect(await codeFor(gitlab, { ...GITLAB, ref_protected: 'false' })).toBe(401);
    expect(await codeFor(gitlab, { ...GITLAB, namespace_id: '1' })).toBe(401);
  });

  it('get a reason from a TokenReview', async () => {
    expect(await reasonFor(github, { ...GITHUB, repository_owner_id: '9' })).toContain('claim repository_owner_id');
    expect(await reasonFor(github, { ...GITHUB, aud: 'other' })).toBe(
      'token audience is not one of those that are accepted',
    );
    expect(await reasonFor(gitlab, { ...GITLAB, namespace_id: '1' })).toContain('is not one of ours');
  });
});

everyCommandWasRun('docs/connect/ci.md');
