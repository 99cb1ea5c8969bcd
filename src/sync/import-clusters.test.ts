import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../api/kind.ts';
import { type ImportSettings, importedState, importOwnership } from './import-clusters.ts';
import type { SourceSettings } from './sources/import-source.ts';
import { type ImportFrom, SOURCES } from './sources/sources.ts';

const SETTINGS: ImportSettings & SourceSettings = {
  from: 'capi',
  hub: 'hub',
  hubNamespace: undefined,
  nameTemplate: '{name}',
  setLabels: {},
  copyLabels: [],
  ready: false,
  productName: 'orchestrator',
  withoutCa: false,
  accessProvider: undefined,
  manager: 'clusterpass',
  readKubeconfig: async () => ({ server: 'https://10.0.0.1:6443', caBundle: 'Q0E=' }),
};

type Changes = Partial<ImportSettings & SourceSettings>;

const read = (from: ImportFrom, objects: ApiObject[], changes: Changes = {}) =>
  importedState(objects, SOURCES[from], { ...SETTINGS, from, ...changes });

/** The only cluster of an object, or what is said about the object. */
async function readOne(from: ImportFrom, object: ApiObject, changes: Changes = {}) {
  const { objects, kept, problems } = await read(from, [object], changes);
  const [desired] = objects.values();
  const [{ problem, state } = { problem: undefined, state: undefined }] = problems.values();
  const spec = desired?.object.spec as { orchestratorApiEndpoints?: { serverEndpoints: { serverAddress: string }[] } };
  const { serverEndpoints = [], ...ca } = spec?.orchestratorApiEndpoints ?? {};
  const addresses = [...new Set(serverEndpoints.map(({ serverAddress }) => serverAddress))];
  // What the hub has is never pruned.
  expect(kept.size).toBe(1);
  return { desired, problem, state, addresses, ca };
}

const object = (metadata: object, spec: object, status: object): ApiObject => ({
  apiVersion: 'x/v1',
  kind: 'X',
  metadata: { name: 'a', namespace: 'team', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  spec,
  status,
});

const ENDPOINT = { controlPlaneEndpoint: { host: '10.0.0.1', port: 6443 } };
const INITIALIZED = { initialization: { controlPlaneInitialized: true } };
const capi = (spec: object = ENDPOINT, status: object = INITIALIZED, metadata: object = {}) =>
  object(metadata, spec, status);

describe('CP-90, CP-91: Cluster API', () => {
  it('reads the endpoint, and the CA in the kubeconfig', async () => {
    const { desired, addresses, ca, problem } = await readOne('capi', capi());
    expect([addresses, ca, problem]).toEqual([['https://10.0.0.1:6443'], { caBundle: 'Q0E=' }, undefined]);
    expect(desired?.object.metadata).toEqual({
      name: 'a',
      labels: {},
      annotations: { 'clusterpass.dev/imported-from': 'capi/hub/team/a' },
    });
    expect(desired).not.toHaveProperty('status');
  });

  it('reads v1beta1, IPv6, and no Secret without a CA', async () => {
    const old = capi({ controlPlaneEndpoint: { host: '2001:db8::1', port: 443 } }, { controlPlaneReady: true });
    const readKubeconfig = async () => {
      throw new Error('read a Secret');
    };
    const { addresses, ca } = await readOne('capi', old, { withoutCa: true, readKubeconfig });
    expect([addresses, ca]).toEqual([['https://[2001:db8::1]:443'], {}]);
  });

  it.each<[ApiObject, string]>([
    [capi({}), 'controlPlaneEndpoint is not set yet'],
    [capi(ENDPOINT, {}), 'not initialized yet'],
    [capi(ENDPOINT, INITIALIZED, { deletionTimestamp: 'x' }), 'being deleted'],
  ])('skips a cluster that is not ready: %#', async (source, text) => {
    const { desired, problem, state } = await readOne('capi', source);
    expect([desired, problem, state]).toEqual([undefined, expect.stringContaining(text), 'skipped']);
  });

  it.each<[ApiObject, Changes, string]>([
    [capi(ENDPOINT, INITIALIZED, { name: 'A_b' }), {}, '"A_b" is not a name of a cluster'],
    [capi(), { readKubeconfig: async () => ({ problem: 'no Secret', state: 'failed' }) }, 'no Secret'],
    [
      capi(),
      { readKubeconfig: async () => ({ server: 'https://rancher/k8s/clusters/x', caBundle: undefined }) },
      'has a path',
    ],
    [capi(), { readKubeconfig: async () => ({ server: 'http://10.0.0.1', caBundle: undefined }) }, 'not an https URL'],
    ...['https://10.0.0.1/?x', 'https://10.0.0.1/#x'].map((server): [ApiObject, Changes, string] => [
      capi(),
      { readKubeconfig: async () => ({ server, caBundle: undefined }) },
      'has a path',
    ]),
    [
      capi(ENDPOINT, INITIALIZED, { labels: { env: 'not a value' } }),
      { copyLabels: ['env'] },
      'label env is not a label value',
    ],
  ])('leaves a cluster as it is that cannot be read: %#', async (source, changes, text) => {
    const { desired, problem, state } = await readOne('capi', source, changes);
    expect([desired, problem, state]).toEqual([undefined, expect.stringContaining(text), 'failed']);
  });

  it.each([
    'https://admin@10.0.0.1',
    'https://:hunter2@10.0.0.1',
    'http://admin:hunter2@10.0.0.1',
    'https://admin:hunter2/@10.0.0.1',
  ])('neither registers nor shows a credential in the address: %s', async (server) => {
    const readKubeconfig = async () => ({ server, caBundle: undefined });
    const { desired, problem } = await readOne('capi', capi(), { readKubeconfig });
    expect([desired, problem]).toEqual([undefined, 'its address has a credential in it']);
  });

  it('prefers the address in the kubeconfig, and says so', async () => {
    const readKubeconfig = async () => ({ server: 'https://api.example:6443', caBundle: undefined });
    const { addresses, problem, state } = await readOne('capi', capi(), { readKubeconfig });
    expect([addresses, problem, state]).toEqual([
      ['https://api.example:6443'],
      expect.stringContaining('the first is used'),
      'synced',
    ]);
  });

  it('CP-89: copies only labels that are named', async () => {
    const labels = { env: 'prod', 'protected.clusterpass.dev/tier': 'gold' };
    const source = capi(ENDPOINT, INITIALIZED, { labels });
    const copied = async (changes: Changes) => (await readOne('capi', source, changes)).desired?.object.metadata.labels;
    expect(await copied({})).toEqual({});
    expect(await copied({ setLabels: { from: 'capi', env: 'dev' } })).toEqual({ from: 'capi', env: 'dev' });
    expect(await copied({ copyLabels: ['env', 'constructor', 'none'] })).toEqual({ env: 'prod' });
  });

  it('CP-88: names clusters by a template, and registers none of two with one name', async () => {
    const both = [capi(), capi(ENDPOINT, INITIALIZED, { namespace: 'other' })];
    const { objects } = await read('capi', both, { nameTemplate: '{namespace}-{name}' });
    expect([...objects.keys()]).toEqual(['team-a', 'other-a']);
    const same = await read('capi', both);
    expect([same.objects.size, [...same.kept], [...same.problems]]).toEqual([
      0,
      ['a'],
      [
        ['team/a', { problem: '2 objects would be named a', state: 'failed' }],
        ['other/a', { problem: '2 objects would be named a', state: 'failed' }],
      ],
    ]);
  });

  it('CP-89: takes over health with a reason of the hub', async () => {
    const condition = {
      status: 'False',
      reason: 'Down',
      message: `${'x'.repeat(1_023)}\u{1f600}`,
      lastTransitionTime: 't',
    };
    const conditions = [
      { type: 'Available', status: 'True' },
      { type: 'ControlPlaneAvailable', ...condition },
    ];
    const source = capi(ENDPOINT, { ...INITIALIZED, conditions });
    expect((await readOne('capi', source, { ready: true })).desired?.status).toEqual({
      conditions: [{ ...condition, type: 'Ready', reason: 'HubDown', message: `${'x'.repeat(1_023)}\ufffd` }],
    });
    const odd = capi(ENDPOINT, { ...INITIALIZED, conditions: [{ type: 'Available', status: 'Perhaps' }] });
    expect((await readOne('capi', odd, { ready: true })).desired?.status).toEqual({
      conditions: [{ type: 'Ready', status: 'Unknown', reason: 'HubReported' }],
    });
    expect((await readOne('capi', capi(), { ready: true })).desired?.status).toEqual({});
  });
});

describe('CP-92: Open Cluster Management', () => {
  const JOINED = { type: 'ManagedClusterJoined', status: 'True' };
  const pem = (name: string) => Buffer.from(`${name}\n`).toString('base64');
  const spec = {
    hubAcceptsClient: true,
    managedClusterClientConfigs: [
      { url: 'https://a:6443', caBundle: pem('one') },
      { url: 'https://b:6443/', caBundle: pem('two') },
    ],
  };
  const managed = (changes: object = {}, conditions: object[] = [JOINED]) =>
    object(
      { namespace: undefined },
      { ...spec, ...changes },
      {
        conditions,
        version: { kubernetes: 'v1.36.0' },
        clusterClaims: [{ name: 'region', value: 'eu' }],
      },
    );

  it('reads addresses in their order, all CAs, and claims that are named', async () => {
    const { desired, addresses, ca } = await readOne('ocm', managed(), { copyLabels: ['region'], ready: true });
    expect([addresses, ca]).toEqual([['https://a:6443', 'https://b:6443'], { caBundle: pem('one\ntwo') }]);
    expect((await readOne('ocm', managed(), { withoutCa: true })).ca).toEqual({});
    expect(desired).toMatchObject({
      object: {
        metadata: { labels: { region: 'eu' }, annotations: { 'clusterpass.dev/imported-from': 'ocm/hub//a' } },
      },
      status: { version: 'v1.36.0' },
    });
  });

  it.each<[ApiObject, string]>([
    [managed({ hubAcceptsClient: false }), 'has not accepted'],
    [managed({}, []), 'has not joined'],
    [managed({ managedClusterClientConfigs: [] }), 'knows no address'],
  ])('leaves out %#', async (source, text) => {
    const { problem, state } = await readOne('ocm', source);
    expect([problem, state]).toEqual([expect.stringContaining(text), 'skipped']);
  });
});

describe('CP-93: ClusterProfiles', () => {
  const access = (cluster: object, name = 'p') => ({ name, cluster });
  const profile = (providers: object[], metadata: object = {}) =>
    object(metadata, {}, { accessProviders: providers, version: { kubernetes: 'v1.36.0' } });
  const good = access({ server: 'https://a', 'certificate-authority-data': 'Q0E=' });

  it('reads the named access provider, else the first with https', async () => {
    const two = profile([access({ server: 'http://plain' }, 'x'), good, access({ server: 'https://z' }, 'z')]);
    expect(await readOne('clusterprofile', two)).toMatchObject({ addresses: ['https://a'], ca: { caBundle: 'Q0E=' } });
    expect((await readOne('clusterprofile', two, { withoutCa: true })).ca).toEqual({});
    expect(await readOne('clusterprofile', two, { accessProvider: 'z' })).toMatchObject({ addresses: ['https://z'] });
    expect(await readOne('clusterprofile', two, { accessProvider: 'y' })).toMatchObject({
      problem: expect.stringContaining('has none "y"'),
      state: 'skipped',
    });
    const insecure = profile([access({ server: 'https://a', 'insecure-skip-tls-verify': true })]);
    expect(await readOne('clusterprofile', insecure)).toMatchObject({
      problem: expect.stringContaining('does not verify'),
      state: 'failed',
    });
    const named = profile([access({ server: 'https://a', 'tls-server-name': 'b' })]);
    expect(await readOne('clusterprofile', named)).toMatchObject({
      addresses: ['https://a'],
      problem: 'tls-server-name of its access provider is not used',
    });
  });

  it('CP-21: ignores our own exports, and of duplicates imports the oldest', async () => {
    const member = { 'multicluster.x-k8s.io/inventory-member-id': 'm' };
    const at = (name: string, creationTimestamp: string) =>
      profile([good], { name, creationTimestamp, labels: member });
    const ours = profile([good], { labels: { 'x-k8s.io/cluster-manager': 'clusterpass' } });
    expect(await read('clusterprofile', [ours])).toMatchObject({ objects: { size: 0 }, kept: { size: 0 } });
    const { objects, problems } = await read('clusterprofile', [at('new', '2026-02-01'), at('old', '2026-01-01')]);
    expect([[...objects.keys()], [...problems.keys()], problems.get('team/new')?.state]).toEqual([
      ['old'],
      ['team/new'],
      'skipped',
    ]);
    const tie = await read('clusterprofile', [at('x', '2026-01-01'), at('y', '2026-01-01')]);
    expect([tie.objects.size, [...tie.problems.values()].map(({ state }) => state), tie.kept.size]).toEqual([
      0,
      ['failed', 'failed'],
      2,
    ]);
  });
});

describe('CP-89: the owner of a cluster', () => {
  const marked = (mark?: string): ApiObject =>
    object({ ...(mark === undefined ? {} : { annotations: { 'clusterpass.dev/imported-from': mark } }) }, {}, {});
  it.each<[string | undefined, boolean, boolean, boolean]>([
    ['capi/hub/team/a', true, true, true],
    ['capi/hub/other/a', false, true, false],
    ['capi/hub/team2/a', false, true, false],
    ['capi/hub2/team/a', false, false, false],
    ['ocm/hub/team/a', false, false, false],
    [undefined, false, false, false],
  ])('%s', (mark, mayChange, mayRemove, mayRemoveInNamespace) => {
    const ownership = importOwnership(SETTINGS);
    const inNamespace = importOwnership({ ...SETTINGS, hubNamespace: 'team' });
    const desired = { object: marked('capi/hub/team/a') };
    expect([
      ownership.mayChange(marked(mark), desired),
      ownership.mayRemove(marked(mark)),
      inNamespace.mayRemove(marked(mark)),
    ]).toEqual([mayChange, mayRemove, mayRemoveInNamespace]);
    expect(ownership.mayChange(marked(undefined), { object: marked(undefined) })).toBe(false);
  });
});
