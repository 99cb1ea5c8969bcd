import type { ConnectorStatus } from '../api/kinds/connector.ts';
import type { Transport } from '../client/transport.ts';
import { defined, memberOf } from '../lib/json.ts';
import { clip } from '../lib/text.ts';

const ALL_MS = 8_000;
const MAX_MESSAGE = 1_024;
/** The columns that kubectl shows, e.g. `Ready,SchedulingDisabled`: objects have many kilobytes each. */
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
/** kube-apiserver sends the keys of its issuer, at `/openid/v1/jwks`, as no other type. */
export const JWKS_TYPE = 'application/jwk-set+json';

interface NodeTable {
  readonly columnDefinitions: readonly { readonly name: string }[];
  readonly rows?: readonly { readonly cells: readonly unknown[] }[];
}

/** What the connector finds out about its cluster from inside. What cannot be read is absent. */
export async function readFindings(api: Transport): Promise<Partial<ConnectorStatus>> {
  const signal = AbortSignal.timeout(ALL_MS);
  const read = async <T>(path: string, more: object = {}): Promise<T | undefined> => {
    const answer = api.request<T>('GET', path, { expects: 'unchecked', signal, ...more });
    return (await answer.catch(() => undefined))?.value;
  };
  // In turn, on the connection that the Lease keeps open: each report would open four.
  const readyz = api.text('GET', '/readyz', { accept: '*/*', signal });
  const problem = await readyz.then(() => undefined).catch((error: Error) => error.message);
  const version = memberOf(await read('/version'), 'gitVersion');
  const table = await read<NodeTable>('/api/v1/nodes', { query: { includeObject: 'None' }, accept: TABLE });
  const keys = await read('/openid/v1/jwks', { accept: JWKS_TYPE });
  return defined({
    ready: problem === undefined,
    readyMessage: clip(problem ?? '', MAX_MESSAGE),
    clusterVersion: typeof version === 'string' ? version : undefined,
    nodes: table && countNodes(table),
    keys: keys === undefined ? undefined : JSON.stringify(keys),
  }) as Partial<ConnectorStatus>;
}

function countNodes({ columnDefinitions, rows = [] }: NodeTable): ConnectorStatus['nodes'] {
  const column = columnDefinitions.findIndex(({ name }) => name === 'Status');
  const ready = rows.filter(({ cells }) => /^Ready(?:,|$)/.test(String(cells[column])));
  return { ready: ready.length, total: rows.length };
}
