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
const TOKEN = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)\/token$/;

const failure = (code: number, reason: string, message: string): HubAnswer => ({
  code,
  value: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message },
});

/** The API server of a cluster with a connector: stored objects, tokens, and what it says about itself. */
export class FakeCluster extends FakeHub {
  readonly tokenRequests: SeenRequest[] = [];
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
    const [, namespace = '', name = ''] = TOKEN.exec(path) ?? [];
    return method === 'POST' && name !== '' ? this.#token(namespace, name, JSON.parse(body).spec) : undefined;
  }

  async #token(namespace: string, name: string, spec: SeenRequest['spec']): Promise<HubAnswer> {
    const account = `${namespace}/${name}`;
    const seen = { account, spec };
    this.tokenRequests.push(seen);
    await this.beforeToken();
    const { boundObjectRef: bound, expirationSeconds } = spec;
    if (!this.objects('/serviceaccounts').has(account)) {
      return failure(404, 'NotFound', `serviceaccounts "${name}" not found`);
    }
    const secret = bound && this.objects('/secrets').get(`${namespace}/${bound.name}`);
    if (bound?.kind === 'Secret' && secret?.metadata.uid !== bound.uid) {
      return failure(409, 'Conflict', `the Secret ${bound.name} is another one`);
    }
    if (expirationSeconds < 600) return failure(422, 'Invalid', 'may not specify a duration less than 10 minutes');
    const expirationTimestamp = new Date(Date.now() + expirationSeconds * 1000).toISOString();
    const status = { token: await this.sign(seen), expirationTimestamp };
    return { code: 201, value: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', status } };
  }
}
