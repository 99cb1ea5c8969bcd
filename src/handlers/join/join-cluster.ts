import { FOREIGN_ACCOUNT, type Identity, type User } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { CONNECTOR_ANNOTATION } from '../../api/connector.ts';
import { CLUSTER_ID_ANNOTATION, JOINED_ANNOTATION } from '../../api/domain-keys.ts';
import { type ApiObject, fleetKey, storageKey } from '../../api/kind.ts';
import { bootstrapSpec, bootstrapStatus, matchesPattern } from '../../api/kinds/bootstrap-token.ts';
import { CONNECTOR_REFERENCE, endpointsField } from '../../api/kinds/cluster-spec.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import {
  ApiError,
  checkEach,
  conflict,
  type FieldError,
  forbidden,
  forbiddenField,
  ignoreNotFound,
  invalid,
  invalidValue,
  required,
} from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { PublicView } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import type { Views } from '../views.ts';
import { readObject } from '../write/read-body.ts';
import { writeResponse } from '../write/write-parts.ts';
import { readConnector, recordConnector, unlessTaken, type VerifyConnector } from './register-connector.ts';

const MANAGER = 'clusterpass-join';

/** What the handlers of bootstrap tokens share. */
export interface JoinParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly views: Views;
  readonly publicView: PublicView;
  readonly productName: string;
  /** @throws ApiError 403 for a creator who may not register this cluster, or a connector of the stored one, `old`. */
  readonly checkJoin: (creator: Identity, cluster: ApiObject, old?: ApiObject) => void;
  /** Tells the other names of the cluster, of those that the creator may list. */
  readonly tellNames: (creator: Identity, cluster: ApiObject, tell: (what: string, names: string) => void) => void;
  readonly verifyConnector: VerifyConnector;
  /** Throws while the clock is known to be wrong: a bootstrap token says when it expires. */
  readonly requireRightClock: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * A bootstrap token registers its cluster: `POST bootstraptokens/NAME/cluster`, with a Cluster as the body. A write of
 * the store changes one key (ADR 2), so the token is spent first, for one name, and then the cluster is created. A
 * client that lost the answer, or a crash in between, repeats the request with the same name. The token reads nothing,
 * so its holder learns of one name only whether it is taken: the token is spent for it first. A dry run does not tell.
 * A token for one name alone also registers the connector of a cluster that has none, e.g. after a reinstallation.
 */
export function createJoinHandler(parts: JoinParts): (request: ApiRequest) => Promise<ApiResponse> {
  const { catalog, reader, writer } = parts;
  const { bootstrapTokens, clusters } = catalog;
  return async (request) => {
    const id = request.target.name;
    if (request.caller.bootstrapToken !== id) {
      throw forbidden(bootstrapTokens, id, 'only the bootstrap token itself registers its cluster');
    }
    const options = parseCreateOptions(request.query);
    const sent = readObject(request, clusters, options.fieldValidation);
    await reader.catchUp();
    const entry = reader.find(bootstrapTokens, fleetKey(id));
    // Another token of the same name has another secret, and permits something else.
    if (entry === undefined || entry.uid !== request.caller.as(undefined).uid) throw tokenDeleted(parts, id);
    const token = entry.object();
    const cluster = clusterFor(parts, token, sent);
    const name = cluster.metadata.name ?? '';
    checkReservedName(parts, token, name);
    const connector = await readConnector(parts, sent);
    if (connector?.answersOrders === true) {
      (cluster.spec as Record<string, unknown>).authInfo = { controller: { kind: CONNECTOR_REFERENCE, name } };
    }
    const isFinished = bootstrapStatus(token).registeredTimestamp !== undefined;
    const existing = joinedCluster(parts, token, name);
    if (existing !== undefined) {
      annotate(request, token, name);
      // After a crash that came before it.
      if (!isFinished && !options.dryRun) await finish(parts, token, existing, connector);
      return writeResponse(parts, request, clusters, onlyIdentity(existing), { code: 200 });
    }
    if (isFinished) throw spent(parts, token);

    // The token reads nothing: its holder learns that one cluster has another name, and the token is spent for that.
    const others: string[] = [];
    const tell = (what: string, names: string): void => {
      others.push(names);
      request.annotate('clusterpass.dev/registered-as', others.join(', '));
      request.warn(`${what} is registered under another name, which the audit event has`);
    };
    const former = connector && unconnected(parts, token, name);
    if (former !== undefined) checkSameCluster(parts, former, cluster);
    // The one that a dry run answers with, whether or not the name is taken.
    let prepared = cluster;
    const guards = [
      { key: storageKey(bootstrapTokens, fleetKey(id)), expect: { createRevision: entry.createRevision } },
    ];
    const write = async (dryRun: boolean): Promise<ApiObject> => {
      const admit = (object: ApiObject, old: ApiObject | undefined): void => {
        prepared = object;
        const creator = checkCreator(parts, token, object, old);
        // As the client describes it: the endpoints of a registered one stay.
        if (!dryRun) parts.tellNames(creator, cluster, tell);
      };
      const options = { dryRun, manager: MANAGER, admit, guards };
      if (former === undefined) return writer.create(clusters, fleetKey(name), cluster, options);
      const preconditions = { uid: former.metadata.uid ?? '' };
      const update = { ...options, part: 'object', preconditions } as const;
      return writer.update(clusters, fleetKey(name), (current) => connected(current, cluster), update);
    };
    const [code, shown] = former === undefined ? [201, (object: ApiObject) => object] : [200, onlyIdentity];
    // Every check first: a mistake in the request does not spend the token.
    await write(true).catch(unlessTaken);
    annotate(request, token, name);
    if (options.dryRun) return writeResponse(parts, request, clusters, shown(prepared), { code });
    await spend(parts, request, token, name);
    const written = await write(false);
    await finish(parts, token, written, connector);
    return writeResponse(parts, request, clusters, shown(written), { code });
  };
}

/** The path names the token only, and its object is deleted after a day. */
function annotate({ annotate: add }: ApiRequest, token: ApiObject, cluster: string): void {
  add('clusterpass.dev/cluster', cluster);
  add('clusterpass.dev/requester', bootstrapSpec(token).createdBy?.username ?? '');
}

/** On a joined cluster: the uid of its bootstrap token, so that another token of the same name is another one. */
const markOf = ({ metadata: { name = '', uid = '' } }: ApiObject): string => `${name}/${uid}`;

function joinedCluster({ catalog, reader }: JoinParts, token: ApiObject, name: string): ApiObject | undefined {
  if (bootstrapStatus(token).cluster !== name) return undefined;
  const found = reader.find(catalog.clusters, fleetKey(name))?.object();
  return found?.metadata.annotations?.[JOINED_ANNOTATION] === markOf(token) ? found : undefined;
}

/** The token is for this name alone: its creator means this cluster. */
function unconnected({ catalog, reader }: JoinParts, token: ApiObject, name: string): ApiObject | undefined {
  const isTaken = reader.find(catalog.connectors, fleetKey(name)) !== undefined;
  if (isTaken || bootstrapSpec(token).namePattern !== name) return undefined;
  return reader.find(catalog.clusters, fleetKey(name))?.object();
}

function checkSameCluster({ catalog }: JoinParts, former: ApiObject, sent: ApiObject): void {
  const [known, id] = [former, sent].map(({ metadata }) => metadata.annotations?.[CLUSTER_ID_ANNOTATION]);
  if (known === undefined || known === id) return;
  throw conflict(catalog.clusters, former.metadata.name ?? '', 'the registered cluster of this name is another one');
}

/** Everything but who issues its tokens stays: its endpoints and labels may have been changed since. */
function connected(current: ApiObject, { metadata, spec }: ApiObject): ApiObject {
  const { authInfo } = spec as { authInfo?: object };
  return {
    ...current,
    metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, ...metadata.annotations } },
    spec: { ...(current.spec as object), ...(authInfo && { authInfo }) },
  };
}

/** The token registers and does not read: what others wrote to the cluster since then is not for its holder. */
function onlyIdentity({
  apiVersion,
  kind,
  metadata: { name = '', uid = '', creationTimestamp = '' },
}: ApiObject): ApiObject {
  return { apiVersion, kind, metadata: { name, uid, creationTimestamp } };
}

/** The cluster that is created: what the client may choose, and what the token determines. */
function clusterFor({ catalog, productName }: JoinParts, token: ApiObject, sent: ApiObject): ApiObject {
  const { namePattern = '', labels = {} } = bootstrapSpec(token);
  const { metadata, spec, apiVersion, kind } = sent;
  const { name = '', annotations = {} } = metadata ?? {};
  const endpoints = endpointsField(productName);
  const errors: FieldError[] = [];
  if (name === '') errors.push(required('metadata.name', 'a bootstrap token registers a cluster by its name'));
  else if (!matchesPattern(name, namePattern)) {
    errors.push(invalidValue('metadata.name', name, `the bootstrap token is for names like ${namePattern}`));
  }
  const [label] = Object.entries(metadata?.labels ?? {}).find(([key, value]) => labels[key] !== value) ?? [];
  if (label !== undefined) {
    errors.push(forbiddenField(`metadata.labels[${label}]`, 'the bootstrap token determines the labels'));
  }
  const others = [
    ...Object.keys(annotations)
      .filter((key) => key !== CLUSTER_ID_ANNOTATION && key !== CONNECTOR_ANNOTATION)
      .map((key) => `metadata.annotations[${key}]`),
    ...(['generateName', 'finalizers', 'ownerReferences'] as const)
      .filter((field) => metadata?.[field] !== undefined)
      .map((field) => `metadata.${field}`),
    ...Object.keys((spec ?? {}) as object)
      .filter((field) => field !== endpoints)
      .map((field) => `spec.${field}`),
  ];
  errors.push(
    ...checkEach(others, (field) => [
      forbiddenField(field, 'a bootstrap token registers a name, endpoints and the id of the cluster only'),
    ]),
  );
  if (errors.length > 0) throw invalid(catalog.clusters, name, errors);
  const id = annotations[CLUSTER_ID_ANNOTATION];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      labels,
      annotations: { [JOINED_ANNOTATION]: markOf(token), ...(id === undefined ? {} : { [CLUSTER_ID_ANNOTATION]: id }) },
    },
    spec: { [endpoints]: ((spec ?? {}) as Record<string, unknown>)[endpoints] },
  };
}

function checkCreator(parts: JoinParts, token: ApiObject, cluster: ApiObject, old: ApiObject | undefined): Identity {
  const { catalog, checkJoin } = parts;
  const { createdBy } = bootstrapSpec(token);
  const id = token.metadata.name ?? '';
  const { username: name, uid = '', groups = [] } = createdBy ?? {};
  if (name === undefined) throw forbidden(catalog.bootstrapTokens, id, 'it does not say who created it');
  const creator: Identity = { as: () => ({ name, uid, groups, extra: {} }) };
  if (isDeletedAccount(parts, creator.as(undefined)))
    throw forbidden(catalog.bootstrapTokens, id, `its creator ${name} was deleted`);
  try {
    checkJoin(creator, cluster, old);
    return creator;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // The refusal itself has names of bindings and rules of roles, and the token reads nothing.
    const how = `its creator learns why from "clusterpass register ${cluster.metadata.name} --dry-run server"`;
    throw forbidden(catalog.bootstrapTokens, id, `its creator may not register this cluster: ${how}`);
  }
}

/** Bindings outlive a service account. Its passes do not, and neither does a bootstrap token that it created. */
function isDeletedAccount({ catalog, reader }: JoinParts, { name: username, uid }: User): boolean {
  const [isAccount, cluster = '', namespace = '', name = ''] = FOREIGN_ACCOUNT.exec(username) ?? [];
  if (isAccount === undefined) return false;
  const found = reader.find(catalog.serviceAccounts, { cluster, namespace, name });
  return found === undefined || found.deletionTimestamp !== undefined || (uid !== '' && found.uid !== uid);
}

/** The token is for one name from here on. Of two clusters that use it at the same time, one gets it. */
async function spend(parts: JoinParts, request: ApiRequest, token: ApiObject, name: string): Promise<void> {
  const { catalog, writer, now } = parts;
  const id = token.metadata.name ?? '';
  await writer.update(
    catalog.bootstrapTokens,
    fleetKey(id),
    (current) => {
      if (current.metadata.uid !== token.metadata.uid) throw tokenDeleted(parts, id);
      checkReservedName(parts, current, name);
      const { registeredTimestamp, usedTimestamp = toTimestamp(now()) } = bootstrapStatus(current);
      if (registeredTimestamp !== undefined) throw spent(parts, current);
      return { ...current, status: { ...bootstrapStatus(current), cluster: name, usedTimestamp } };
    },
    { dryRun: false, part: 'both', request },
  );
}

/**
 * Without it the token could register its cluster, or another connector, again after a deletion. A token that was
 * deleted cannot.
 */
async function finish(
  parts: JoinParts,
  { metadata: { name: id = '', uid } }: ApiObject,
  cluster: ApiObject,
  connector: Awaited<ReturnType<typeof readConnector>>,
): Promise<void> {
  const { catalog, writer, now } = parts;
  if (connector !== undefined) await recordConnector(parts, cluster, connector.account);
  const registered = (current: ApiObject): ApiObject =>
    current.metadata.uid === uid
      ? { ...current, status: { ...bootstrapStatus(current), registeredTimestamp: toTimestamp(now()) } }
      : current;
  const options = { dryRun: false, part: 'both' } as const;
  await writer.update(catalog.bootstrapTokens, fleetKey(id), registered, options).catch(ignoreNotFound);
}

function checkReservedName(parts: JoinParts, token: ApiObject, name: string): void {
  const { cluster } = bootstrapStatus(token);
  if (cluster !== undefined && cluster !== name) throw spent(parts, token);
}

const spent = ({ catalog }: JoinParts, token: ApiObject): ApiError =>
  conflict(
    catalog.bootstrapTokens,
    token.metadata.name ?? '',
    `it was already used to register cluster ${bootstrapStatus(token).cluster}: create another one`,
  );

const tokenDeleted = ({ catalog }: JoinParts, id: string): ApiError =>
  conflict(catalog.bootstrapTokens, id, 'it was deleted');
