import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { addCluster } from '../e2e/support/fleet.ts';
import { acceptTokens, type IdentityProvider, startProvider } from '../e2e/support/provider.ts';
import { TLS } from '../e2e/support/server.ts';
import { sharedTlsServer } from '../e2e/support/shared-server.ts';
import { type Manifest, misfitsOf, parseManifests } from '../helm/manifests.ts';
import { type Block, execute, isRun, ROOT } from './support/blocks.ts';
import { AUDIENCE, GITHUB, GITLAB, KUBERNETES, SPIFFE } from './support/ci-claims.ts';
import { installClusterpass } from './support/clusterpass.ts';
import { BLOCKS, fileOf } from './support/connect-pages.ts';
import { everyCommandWasRun } from './support/every-command.ts';

/** deploy/ci/ and docs/connect/ci.md with a real server: the files are loaded, and the jobs run up to kubectl. */

const SYSTEMS = { github: GITHUB, gitlab: GITLAB, kubernetes: KUBERNETES, spiffe: SPIFFE } as const;
type System = keyof typeof SYSTEMS;
const NAMES = Object.keys(SYSTEMS) as readonly System[];

const CA_BUNDLE = readFileSync(TLS.caFile).toString('base64');

let folder: string;
let issuers: Record<System, IdentityProvider>;
const server = sharedTlsServer();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-ci-'));
  const started = await Promise.all(NAMES.map(async (name) => [name, await startProvider()] as const));
  issuers = Object.fromEntries(started) as typeof issuers;
  // The entries of all systems in one file, each for another issuer.
  const jwt = NAMES.map((name) => {
    const [entry] = parse(fileOf(`deploy/ci/${name}/authentication.yaml`)).jwt;
    const { url, ca } = issuers[name];
    return { ...entry, issuer: { ...entry.issuer, url, certificateAuthority: ca } };
  });
  const config = stringify({ ...parse(fileOf('deploy/ci/github/authentication.yaml')), jwt });
  await acceptTokens(server, Object.values(issuers), config);
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://api.example.com:6443' }];
  const spec = { orchestratorApiEndpoints: { serverEndpoints, caBundle: CA_BUNDLE } };
  await addCluster(server, 'prod-eu-1', { labels: { env: 'prod' }, spec });
  await addCluster(server, 'dev-eu-1', { labels: { env: 'dev' }, spec });
  installClusterpass(folder);
  for (const name of ['account', ...NAMES.map((system) => `${system}/rbac`)]) {
    const path = `deploy/ci/${name}.yaml`;
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), fileOf(path));
  }
  const { code, output } = await execute(APPLY, (text) => run(text, admin()));
  expect(code, output).toBe(0);
});
afterAll(() => Promise.all(Object.values(issuers).map((issuer) => issuer.close())));

const [APPLY, KUBECONFIG] = BLOCKS.filter((block) => block.page === 'docs/connect/ci.md' && isRun(block)) as [
  Block,
  Block,
];

type Env = Readonly<Record<string, string>>;
interface Ran {
  readonly code: number | null;
  readonly output: string;
}

const admin = (): Env => ({
  CLUSTERPASS_SERVER: server.url,
  CLUSTERPASS_TOKEN: server.adminToken,
  CLUSTERPASS_CA: TLS.caFile,
});

/** A step of a job, with the shell that runs it there. */
async function run(
  script: string,
  env: Env,
  shell = ['bash', '--noprofile', '--norc', '-eo', 'pipefail'],
): Promise<Ran> {
  const [program = '', ...args] = shell;
  const child = spawn(program, [...args, '-c', script], {
    cwd: folder,
    env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const [code] = await once(child, 'close');
  return { code, output };
}

/** The request of the examples of all systems, for the server of this test. */
const target = (): Env => ({
  CLUSTERPASS_SERVER: server.url,
  CLUSTERPASS_CLUSTER: 'prod-eu-1',
  CLUSTERPASS_NAMESPACE: 'shop',
  CLUSTERPASS_ACCOUNT: 'deployer',
  CLUSTERPASS_CA: TLS.caFile,
});

/** Checks a kubeconfig that a job has written; its pass. */
function passIn(kubeconfig: string): string {
  expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
  const config = parse(readFileSync(kubeconfig, 'utf8'));
  const [{ user }] = config.users;
  expect(config).toEqual({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'prod-eu-1',
        cluster: {
          server: 'https://api.example.com:6443',
          'certificate-authority-data': CA_BUNDLE,
        },
      },
    ],
    users: [{ name: 'shop:deployer@prod-eu-1', user: { token: expect.any(String) } }],
    contexts: [
      { name: 'prod-eu-1', context: { cluster: 'prod-eu-1', user: 'shop:deployer@prod-eu-1', namespace: 'shop' } },
    ],
    'current-context': 'prod-eu-1',
  });
  expect(decodeJwt(user.token)).toMatchObject({
    sub: 'system:serviceaccount:shop:deployer',
    aud: [`${server.url}/orchestrator/prod-eu-1`],
  });
  return user.token;
}

describe('the action for GitHub', () => {
  const action = parse(fileOf('deploy/ci/github/action.yml'));
  const workflow = parse(fileOf('deploy/ci/github/workflow.yaml'));
  const [, use, deploy] = workflow.jobs.deploy.steps;
  const [step] = action.runs.steps;
  let service: HttpServer;
  const asked: URLSearchParams[] = [];

  beforeAll(async () => {
    service = createServer(async (request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x');
      asked.push(searchParams);
      const permitted = request.headers.authorization === 'Bearer request-token';
      response.writeHead(permitted ? 200 : 401);
      const value = await issuers.github.sign({ ...GITHUB, aud: searchParams.get('audience') });
      // As GitHub's service does: the value is one of several members.
      response.end(JSON.stringify({ count: 1, value: permitted ? value : '' }));
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
  });
  afterAll(() => service.close());

  /** The environment of the step, with the inputs in place of the expressions. */
  const envOf = (inputs: Env): Env =>
    Object.fromEntries(
      Object.entries<string>(step.env).map(([name, expression]) => {
        const [, input = ''] = /^\$\{\{ inputs\.([a-z-]+) \}\}$/.exec(expression) ?? [];
        const { [input]: declared } = action.inputs;
        expect(declared, expression).toBeDefined();
        return [name, inputs[input] ?? declared.default];
      }),
    );
  const runner = (): Env => ({
    GITHUB_ACTIONS: 'true',
    GITHUB_ACTION_PATH: join(ROOT, 'deploy/ci/github'),
    GITHUB_OUTPUT: join(folder, 'github.output'),
    GITHUB_ENV: join(folder, 'github.env'),
    RUNNER_TEMP: folder,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}/token?api-version=2.0`,
  });
  // The audience is the public address of the server, and the test's server has another one.
  const inputs = (): Env => ({
    ...use.with,
    server: server.url,
    audience: use.with.server,
    'certificate-authority': TLS.caFile,
  });

  it('is used by a job that may request an ID token, and needs no other step', () => {
    expect(workflow.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(use.uses).toContain('/deploy/ci/github@');
    expect(deploy.run).toMatch(/^kubectl apply /);
    const required = Object.entries<{ required?: boolean }>(action.inputs).filter(
      ([, input]) => input.required === true,
    );
    expect(Object.keys(use.with)).toEqual(required.map(([name]) => name));
    // An expression in the text of a script would be a way to inject commands.
    expect(step.run).not.toContain('${{');
  });

  it('writes a kubeconfig that only its owner can read, also over a file that others can read', async () => {
    const kubeconfig = join(folder, 'clusterpass-kubeconfig-prod-eu-1');
    writeFileSync(kubeconfig, '', { mode: 0o644 });
    const { code, output } = await run(step.run, { ...runner(), ...envOf(inputs()) });
    expect(code, output).toBe(0);
    expect(Object.fromEntries(asked.at(-1) ?? [])).toEqual({ 'api-version': '2.0', audience: AUDIENCE });
    const pass = passIn(kubeconfig);
    expect(readFileSync(join(folder, 'github.env'), 'utf8')).toBe(`KUBECONFIG=${kubeconfig}\n`);
    expect(readFileSync(join(folder, 'github.output'), 'utf8')).toBe(`kubeconfig=${kubeconfig}\n`);
    expect(action.outputs.kubeconfig.value).toBe(`\${{ steps.${step.id}.outputs.kubeconfig }}`);
    // The log masks both tokens before anything could print them.
    const masked = output.split('\n').filter((line) => line.startsWith('::add-mask::'));
    expect(masked).toHaveLength(2);
    expect(masked[1]).toBe(`::add-mask::${pass}`);
    expect(output.replaceAll(/^::add-mask::.*$/gm, '')).not.toContain('eyJ');
  });
});

describe('the component for GitLab', () => {
  const [header, body] = fileOf('deploy/ci/gitlab/templates/kubeconfig.yml').split(/^---\n/m);
  const use = parse(fileOf('deploy/ci/gitlab/gitlab-ci.yml'));

  it('writes a kubeconfig, and does not change the shell of the job', async () => {
    const { inputs: declared } = parse(header ?? '').spec;
    const [{ inputs: given }] = use.include;
    expect(Object.keys(given)).toEqual(Object.keys(declared).filter((name) => declared[name].default === undefined));
    const text = (body ?? '').replaceAll(
      /\$\[\[ inputs\.([a-z-]+) \]\]/g,
      (_, name: string) => given[name] ?? declared[name].default,
    );
    const { [use.deploy.extends]: job } = parse(text);
    expect(job.id_tokens).toEqual({ CLUSTERPASS_TOKEN: { aud: AUDIENCE } });
    expect(use.deploy.script[0]).toMatch(/^kubectl apply /);
    const env = {
      ...job.variables,
      CLUSTERPASS_SERVER: server.url,
      CLUSTERPASS_CA: TLS.caFile,
      CLUSTERPASS_TOKEN: await issuers.gitlab.sign(GITLAB),
    };
    const script = ['umask 022', ...job.before_script, 'umask; echo "$unset"', 'echo "in $KUBECONFIG"'].join('\n');
    const { code, output } = await run(script, env);
    expect(code, output).toBe(0);
    expect(output).toContain('\n0022\n');
    passIn(/^in (.+)$/m.exec(output)?.[1] ?? '');
    expect(output).not.toContain('eyJ');
  });
});

describe('jobs with a token in a file', () => {
  it('a pod of Kubernetes', async () => {
    const manifests = parseManifests(fileOf('deploy/ci/kubernetes/job.yaml'));
    expect(manifests.flatMap(misfitsOf)).toEqual([]);
    const { containers, volumes } = (manifests[1] as Manifest & { spec: { template: { spec: Pod } } }).spec.template
      .spec;
    const [container] = containers;
    const [projected] = volumes.flatMap((volume) => volume.projected?.sources ?? []);
    expect(projected?.serviceAccountToken).toEqual({ audience: AUDIENCE, expirationSeconds: 600, path: 'token' });
    const env: Env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
    const [script = '', kubectl] = (container?.args[0] ?? '').split('\n');
    expect(kubectl).toMatch(/^kubectl /);
    const token = join(folder, 'token');
    writeFileSync(token, await issuers.kubernetes.sign(KUBERNETES));
    const here = { CLUSTERPASS_TOKEN_FILE: token, KUBECONFIG: join(folder, 'kubernetes') };
    const { CLUSTERPASS_CA = '', CLUSTERPASS_SERVER = '' } = target();
    const { code, output } = await run(
      script.replace('/opt/clusterpass', join(ROOT, 'deploy/ci')),
      { ...env, CLUSTERPASS_CA, CLUSTERPASS_SERVER, ...here },
      ['sh', '-eu'],
    );
    expect(code, output).toBe(0);
    passIn(here.KUBECONFIG);
  });

  it('a workload of SPIFFE', async () => {
    const helper = fileOf('deploy/ci/spiffe/helper.conf');
    expect(helper).toContain(`jwt_audience="${AUDIENCE}"`);
    const token = join(folder, 'clusterpass.token');
    writeFileSync(token, `${await issuers.spiffe.sign(SPIFFE)}\n`);
    // An address with a slash at its end, as browsers show it.
    const { CLUSTERPASS_SERVER, ...rest } = target();
    const address = { ...rest, CLUSTERPASS_SERVER: `${CLUSTERPASS_SERVER}/` };
    const env = { ...address, CLUSTERPASS_TOKEN_FILE: token, KUBECONFIG: join(folder, 'spiffe') };
    const { code, output } = await run(`sh '${ROOT}/deploy/ci/kubeconfig.sh'`, env);
    expect(code, output).toBe(0);
    passIn(env.KUBECONFIG);
  });
});

interface Pod {
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly env: readonly { readonly name: string; readonly value: string }[];
  }[];
  readonly volumes: readonly { readonly projected?: { readonly sources: readonly Record<string, unknown>[] } }[];
}

describe('the script', () => {
  it.each([
    ['no token', { CLUSTERPASS_TOKEN: '' }, /CLUSTERPASS_TOKEN_FILE: is not set, and neither is CLUSTERPASS_TOKEN/],
    ['no cluster', { CLUSTERPASS_CLUSTER: '' }, /CLUSTERPASS_CLUSTER is not set/],
    ['a name that is YAML', { CLUSTERPASS_CLUSTER: 'a"\nb: c' }, /small letters, digits, dots and dashes only/],
    ['a token that is an option of curl', { CLUSTERPASS_TOKEN: 'a"\nurl = "file:///x' }, /is not a JWT/],
    ['a token that is refused', { CLUSTERPASS_TOKEN: 'e.e.e' }, /no pass: \{"error":"invalid_request"/],
    ['another account', { CLUSTERPASS_ACCOUNT: 'admin' }, /no pass: \{"error":"invalid_target"/],
    ['a lifetime that is too short', { CLUSTERPASS_SECONDS: '5' }, /no pass: .*expiration_seconds/],
  ])('%s: no file, and the reason', async (_, change, reason) => {
    const kubeconfig = join(folder, 'none');
    const env = {
      ...target(),
      CLUSTERPASS_TOKEN: await issuers.github.sign(GITHUB),
      KUBECONFIG: kubeconfig,
      ...change,
    };
    const { code, output } = await run(`sh '${ROOT}/deploy/ci/kubeconfig.sh'`, env);
    expect(output).toMatch(reason);
    expect(output).not.toContain('eyJ');
    expect([code === 0, existsSync(kubeconfig)]).toEqual([false, false]);
  });
});

describe('the command line', () => {
  it('has a context for each cluster, with the ID token as its login', async () => {
    const env = {
      ...admin(),
      CLUSTERPASS_TOKEN: await issuers.gitlab.sign(GITLAB),
      XDG_CACHE_HOME: join(folder, 'cache'),
      KUBECONFIG: join(folder, 'by-command-line'),
    };
    const { code, output } = await execute(KUBECONFIG, (text) => run(text, env));
    expect(code, output).toBe(0);
    const { contexts, users } = parse(readFileSync(env.KUBECONFIG, 'utf8'));
    expect(contexts.map(({ name }: { name: string }) => name)).toEqual(['prod-eu-1']);
    const { command, args } = users[0].user.exec;
    const asked = await run(`'${command}' ${args.map((arg: string) => `'${arg}'`).join(' ')}`, env);
    expect(decodeJwt(JSON.parse(asked.output).status.token)).toMatchObject({
      sub: 'system:serviceaccount:shop:deployer',
    });
  });
});

const CREATE = '/orchestrator/prod-eu-1/api/v1/namespaces/shop/serviceaccounts/deployer/token';

describe('other jobs', () => {
  const codeFor = async (system: System, change: object = {}): Promise<number> => {
    const token = await issuers[system].sign(JSON.parse(JSON.stringify({ ...SYSTEMS[system], ...change })));
    return (await server.call('POST', CREATE, { token, body: { spec: { audiences: [] } } })).code;
  };
  const ofAccount = (name: string) => ({
    sub: `system:serviceaccount:ci:${name}`,
    'kubernetes.io': { ...KUBERNETES['kubernetes.io'], serviceaccount: { name, uid: 'u' } },
  });

  it.each<[System, number, object]>([
    ['github', 201, {}],
    ['github', 403, { environment: undefined }],
    // Renamed; and another repository that has taken its name.
    ['github', 201, { repository: 'octo-org/renamed' }],
    ['github', 403, { repository_id: '457' }],
    ['github', 403, { environment: 'production:x' }],
    ['github', 401, { repository_owner_id: '9' }],
    ['github', 401, { ref: 'refs/pull/7/merge', event_name: 'pull_request' }],
    ['github', 401, { event_name: 'pull_request_target' }],
    ['github', 401, { aud: 'https://github.com/octo-org' }],
    ['gitlab', 201, {}],
    ['gitlab', 201, { project_path: 'acme/renamed' }],
    ['gitlab', 403, { project_id: '23' }],
    ['gitlab', 403, { ref: 'feature' }],
    ['gitlab', 403, { ref_type: 'tag' }],
    ['gitlab', 401, { ref_protected: 'false' }],
    ['gitlab', 401, { namespace_id: '1' }],
    ['kubernetes', 201, {}],
    ['kubernetes', 403, ofAccount('default')],
    ['kubernetes', 401, { aud: ['https://kubernetes.default.svc'] }],
    ['spiffe', 201, {}],
    ['spiffe', 403, { sub: 'spiffe://example.org/ns/ci/sa/deployer/x' }],
    ['spiffe', 401, { sub: 'spiffe://other.example/ns/ci/sa/deployer' }],
  ])('%s: %i for %j', async (system, code, change) => {
    expect(await codeFor(system, change)).toBe(code);
  });

  it('RBAC of the files grants what the pages say, and nothing else', () => {
    for (const name of NAMES) {
      const objects = parseAllDocuments(fileOf(`deploy/ci/${name}/rbac.yaml`)).map((document) => document.toJS());
      const granted = objects.map(({ kind, spec }) => [kind, spec.roleRef.name, spec.namespaces]);
      expect(granted).toEqual([
        ['FleetRoleBinding', 'clusterpass:viewer', undefined],
        ['FleetRoleBinding', 'deployer-token', ['shop']],
      ]);
      for (const { spec } of objects) expect(spec.clusters).toEqual({ selector: { matchLabels: { env: 'prod' } } });
    }
  });
});

everyCommandWasRun('docs/connect/ci.md');
