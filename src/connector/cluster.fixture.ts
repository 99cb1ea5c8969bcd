import { passSecretName } from '../api/connector.ts';
import { FakeHub, type HubAnswer, type HubRequest } from '../sync/hub.fixture.ts';

/** A token that was asked for. */
interface SeenRequest {
  readonly account: string;
  readonly spec: {
    readonly audiences: string[];
    readonly expirationSeconds: number;
    readonly boundObjectRef?: { readonly kind: string; readonly name: string; readonly uid: string };
  };
}

const NODE_COLUMNS = ['Name', 'Status', 'Roles', 'Age', 'Version'].map((name) => ({ name }));
const PASS_TYPE = 'clusterpass.dev/pass';
const TOKEN = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)\/token$/;

const failure = (code: number, reason: string, message: string, details: object): HubAnswer => ({
  code,
  value: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code },
});

/** As kube-apiserver 1.36.4 with deploy/kubernetes/connector answers. */
const ANSWERS = {
  notFound: (name: string, kind: string) => failure(404, 'NotFound', `${kind} "${name}" not found`, { name, kind }),
  otherUid: (name: string, uid: string) =>
    failure(
      409,
      'Conflict',
      `Operation cannot be fulfilled on Secret "${name}": the UID in the bound object reference (${uid}) does not match ` +
        'the UID in record. The object might have been deleted and then recreated',
      { name, kind: 'Secret' },
    ),
  tooShort: (seconds: number) => {
    const message = `Invalid value: ${seconds}: may not specify a duration less than 10 minutes`;
    const causes = [{ reason: 'FieldValueInvalid', message, field: 'spec.expirationSeconds' }];
    const details = { group: 'authentication.k8s.io', kind: 'TokenRequest', causes };
    const all = `TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: ${message}`;
    return failure(422, 'Invalid', all, details);
  },
  denied: (name: string) => {
    const message =
      "ValidatingAdmissionPolicy 'clusterpass-connector' with binding 'clusterpass-connector' denied request: the " +
      'connector may create and delete Secrets of the type clusterpass.dev/pass without data only';
    const details = { name, kind: 'secrets', causes: [{ message }] };
    return failure(422, 'Invalid', `secrets "${name}" is forbidden: ${message}`, details);
  },
};

/** The API server of a cluster with a connector: stored objects, tokens, and what it says about itself. */
export class FakeCluster extends FakeHub {
  readonly tokenRequests: SeenRequest[] = [];
  /** What there is for the orders, after each change, as test/chaos/trace-checker.ts reads it. */
  readonly steps: { readonly at: number; by: string; step: string; key: string; state: string }[] = [];
  readonly #orders = new Set<string>();
  #recorded: object = {};
  /** By name. */
  readonly #uids = new Map<string, string>();
  /** The UIDs of the Secrets that tokens are bound to. */
  readonly #bound = new Set<string>();
  /** `Ready` or `NotReady`, of each node. */
  nodes: string[] = ['Ready', 'NotReady', 'Ready,SchedulingDisabled'];
  isReady = true;
  keys: object = { keys: [] };
  /** The token of a request. */
  sign: (seen: SeenRequest) => Promise<string> | string = ({ account }) => `token-of-${account}`;
  /** Called before a token request is answered. */
  beforeToken: () => Promise<void> | void = () => {};

  constructor() {
    super({ 'coordination.k8s.io': ['v1'] });
    this.answer = (request) => this.#answer(request);
    this.onChange = (collection, type, object) => {
      const { name = '', uid = '', annotations = {} } = object.metadata;
      if (name === 'clusterpass-connector-records') this.#recorded = (object as { data?: object }).data ?? {};
      if (collection === '/secrets') this.#uids.set(name, type === 'DELETED' ? '' : uid);
      for (const order of [...Object.keys(this.#recorded), annotations['clusterpass.dev/order'] ?? ''])
        if (order !== '' && !order.startsWith('person.')) this.#orders.add(order);
      this.#tell();
    };
  }

  #tell(): void {
    for (const key of this.#orders) {
      const uid = this.#uids.get(passSecretName(key)) ?? '';
      const isRecorded = key in this.#recorded;
      const state =
        uid === ''
          ? isRecorded
            ? 'RECORD'
            : ''
          : !isRecorded
            ? 'SECRET_ONLY'
            : this.#bound.has(uid)
              ? 'TOKEN'
              : 'SECRET';
      this.steps.push({ at: performance.now(), by: 'cluster', step: 'made', key, state });
    }
  }

  addAccount(namespace: string, name: string): void {
    const metadata = { name, namespace, uid: `uid-of-${name}` };
    this.put('/serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  }

  /** `namespace/name` of all Secrets. */
  get secrets(): string[] {
    return [...this.objects('/secrets').keys()];
  }

  async #answer({ method, path, body, accept }: HubRequest): Promise<HubAnswer | undefined> {
    if (path === '/version') return { code: 200, value: { gitVersion: 'v1.36.4' } };
    if (path === '/readyz') return this.isReady ? { code: 200, value: 'ok' } : { code: 500, value: '[-]etcd failed' };
    if (path === '/openid/v1/jwks') {
      const isAccepted = accept === 'application/jwk-set+json';
      return isAccepted ? { code: 200, value: this.keys } : { code: 406, value: '406: Not Acceptable' };
    }
    if (path === '/api/v1/nodes' && accept.includes('as=Table')) {
      const rows = this.nodes.map((status, at) => ({ cells: [`node-${at}`, status, '<none>', '1d', 'v1.36.4'] }));
      return { code: 200, value: { kind: 'Table', metadata: {}, columnDefinitions: NODE_COLUMNS, rows } };
    }
    const denied = this.#deniedSecret(method, path, body);
    if (denied !== undefined) return ANSWERS.denied(denied);
    const [, namespace = '', name = ''] = TOKEN.exec(path) ?? [];
    return method === 'POST' && name !== '' ? this.#token(namespace, name, JSON.parse(body).spec) : undefined;
  }

  /** The name of a Secret that the admission policy keeps the connector from writing. */
  #deniedSecret(method: string, path: string, body: string): string | undefined {
    const [, namespace = '', name = ''] = /^\/api\/v1\/namespaces\/([^/]+)\/secrets(?:\/([^/]+))?$/.exec(path) ?? [];
    if (namespace === '' || method === 'GET') return undefined;
    const sent = method === 'DELETE' ? this.objects('/secrets').get(`${namespace}/${name}`) : JSON.parse(body);
    const { type, data, stringData } = sent ?? { type: PASS_TYPE };
    const isOwn = type === PASS_TYPE && data === undefined && stringData === undefined;
    return isOwn ? undefined : name || sent.metadata.name;
  }

  async #token(namespace: string, name: string, spec: SeenRequest['spec']): Promise<HubAnswer> {
    const account = `${namespace}/${name}`;
    const seen = { account, spec };
    this.tokenRequests.push(seen);
    await this.beforeToken();
    const { boundObjectRef: bound, expirationSeconds } = spec;
    if (!this.objects('/serviceaccounts').has(account)) {
      return ANSWERS.notFound(name, 'serviceaccounts');
    }
    const secret = bound && this.objects('/secrets').get(`${namespace}/${bound.name}`);
    if (expirationSeconds < 600) return ANSWERS.tooShort(expirationSeconds);
    if (bound?.kind === 'Secret' && secret === undefined) return ANSWERS.notFound(bound.name, 'secrets');
    if (bound?.kind === 'Secret' && secret?.metadata.uid !== bound.uid) return ANSWERS.otherUid(bound.name, bound.uid);
    this.#bound.add(bound?.uid ?? '');
    this.#tell();
    const expirationTimestamp = new Date(Date.now() + expirationSeconds * 1000).toISOString();
    const status = { token: await this.sign(seen), expirationTimestamp };
    const { uid } = this.objects('/serviceaccounts').get(account)?.metadata ?? {};
    const metadata = { name, namespace, uid, creationTimestamp: new Date().toISOString().replace(/\.\d+/, '') };
    const value = { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', metadata };
    return { code: 201, value: { ...value, spec: { boundObjectRef: null, ...spec }, status } };
  }
}
