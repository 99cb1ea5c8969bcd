import { type Caller, isSystemName } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { endpointsInForce } from '../../api/clusters/confirmed-endpoint.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { peopleNamespace, personAccountName } from '../../api/connector.ts';
import { fleetKey } from '../../api/kind.ts';
import { connectorStatus } from '../../api/kinds/connector.ts';
import type { GrantedTokenRequest } from '../../api/kinds/token-request.ts';
import { isDns1123Label } from '../../api/names.ts';
import {
  conflict,
  type FieldError,
  forbidden,
  forbiddenField,
  invalid,
  invalidValue,
  notFound,
  tooMany,
  unsupportedValue,
} from '../../api/status.ts';
import { terminating } from '../../objects/parents.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { buildPersonClaims } from '../../tokens/claims.ts';
import { checkNamespace } from '../write/read-body.ts';
import type { PersonActor } from './actor-claim.ts';
import { type ForwardToken, takesOrders } from './forward-token.ts';
import { notConnected } from './order-token.ts';
import {
  checkName,
  GROUP_FIELD,
  parseTokenRequest,
  requireValidRequest,
  serverErrors,
  TOKEN_REQUEST,
} from './parse-token-request.ts';
import { type SignTokenParts, signToken } from './sign-token.ts';
import type { TokenGrant, TokenInput } from './token-input.ts';

export interface PersonTokenParts extends SignTokenParts {
  readonly catalog: Pick<Catalog, 'clusters' | 'connectors' | 'fleetRoleBindings'>;
  readonly reader: Pick<ObjectReader, 'find' | 'findFresh'>;
  readonly productName: string;
  readonly peopleIssuerOf: (cluster: string) => string;
  /** Whether the cluster issues its own tokens, so that it does not trust those of this server. */
  readonly issuesOwnTokens: (cluster: StoredObject) => boolean;
  /** For clusters with a connector. */
  readonly forward: ForwardToken;
  readonly actorOf: PersonActor;
}

/** A person who leaves keeps the pass: a cluster that verifies by the key set accepts it until it expires. */
const MAX_SECONDS = 3600;
/** More would make a token that servers refuse for its length. */
const MAX_GROUPS = 100;
const MAX_NAME_CHARACTERS = 8192;

/** A pass whose subject is the caller, for one cluster. See ADR 32. */
export async function personToken(
  parts: PersonTokenParts,
  input: TokenInput,
  grant: TokenGrant,
): Promise<GrantedTokenRequest> {
  const { catalog, reader } = parts;
  const { request, sent } = input;
  const { caller } = request;
  const { name: cluster } = request.target;
  const issuer = parts.peopleIssuerOf(cluster);
  // The audience follows from the cluster, so it need not be sent.
  const audienceProblem = (audience: string): string | undefined =>
    audience === issuer ? undefined : `the audience of a pass for a person is ${goQuote(issuer)}`;
  const tokenRequest = parseTokenRequest(input, audienceProblem, { isPerson: true });
  checkNamespace(sent, { namespaced: true }, '');
  const person = personOf(caller, catalog.clusters, cluster);
  const stored = await reader.findFresh(catalog.clusters, fleetKey(cluster));
  if (stored === undefined) throw notFound(catalog.clusters, cluster);
  if (stored.deletionTimestamp !== undefined) throw terminating(catalog.clusters, stored, stored);
  const byOrder = takesOrders(stored);
  if (parts.issuesOwnTokens(stored) && !byOrder) {
    throw conflict(catalog.clusters, cluster, 'it issues its own tokens, so there are no passes for people');
  }
  checkName(sent, cluster, 'cluster');
  const errors = [...tokenRequest.errors, ...boundErrors(sent), ...person.errors];
  requireValidRequest([...errors, ...(byOrder ? audienceErrors(sent) : [])]);
  const endpoints = () => endpointsInForce(stored.object(), parts.productName);
  requireValidRequest(serverErrors(tokenRequest.annotations, endpoints));
  const bounds = { sortSeconds: MAX_SECONDS, credentialEndsAt: caller.expiresAt };
  const { group } = tokenRequest.annotations;
  if (byOrder) {
    const one = oneGroup(allowedGroups(parts, cluster, person), group);
    const { name } = person;
    return parts.forward(stored, tokenRequest, grant, {
      namespace: peopleNamespace(one),
      name: personAccountName(name),
      person: { name, group: one, holder: stored, bounds },
    });
  }
  const groups = group === undefined ? person.groups : [oneGroup(person.groups, group)];
  return signToken(parts, tokenRequest, grant, {
    cluster,
    holder: stored,
    issuer,
    audiences: [issuer],
    bounds,
    claimsOf: (granted) =>
      buildPersonClaims({
        issuer,
        clusterUid: stored.uid,
        name: person.name,
        groups,
        ...granted,
        actor: parts.actorOf(request.actor),
      }),
  });
}

interface Person {
  readonly name: string;
  readonly groups: readonly string[];
  readonly errors: readonly FieldError[];
}

/** Throws a 403 for callers who are no persons, or who act as one. */
function personOf(caller: Caller, clusters: Catalog['clusters'], cluster: string): Person {
  const refuse = (why: string) => forbidden(clusters, cluster, why);
  if (caller.impersonator !== undefined) {
    throw refuse('a pass for a person is issued to that person only, not to a caller who impersonates');
  }
  const { name, groups } = caller.as(undefined);
  if (caller.isShared === true) throw refuse(`${goQuote(name)} is the credential of operators, and no person`);
  if (name === '' || isSystemName(name)) {
    throw refuse(`${goQuote(name)} is no person: a service account has passes of its account`);
  }
  const own = groups.filter((group) => !isSystemName(group));
  return { name, groups: own, errors: sizeErrors(name, own) };
}

/** The groups of the person for whose passes the owner of the cluster has decided. */
function allowedGroups({ catalog, reader }: PersonTokenParts, cluster: string, { groups }: Person): readonly string[] {
  const connector = reader.find(catalog.connectors, fleetKey(cluster))?.object();
  if (connector === undefined) throw notConnected(cluster, {});
  const { people = [] } = connectorStatus(connector);
  const allowed = groups.filter(
    (group) => people.includes(group) && isDns1123Label(peopleNamespace(group)).length === 0,
  );
  if (allowed.length > 0) return allowed;
  throw forbidden(catalog.clusters, cluster, 'its owner allows passes for none of your groups');
}

/** The group that the request names. It need not name the only one. */
function oneGroup(choices: readonly string[], named: string | undefined): string {
  const [first, second] = choices;
  if (named === undefined && first !== undefined && second === undefined) return first;
  if (named !== undefined && choices.includes(named)) return named;
  throw invalid(TOKEN_REQUEST, '', [unsupportedValue(GROUP_FIELD, named ?? '', choices)]);
}

const audienceErrors = ({ spec }: TokenInput['sent']): FieldError[] =>
  (spec?.audiences ?? []).length === 0 ? [] : [forbiddenField('spec.audiences', 'the cluster itself issues this pass')];

function sizeErrors(name: string, groups: readonly string[]): FieldError[] {
  if (groups.length > MAX_GROUPS) {
    const error = tooMany('groups', groups.length, MAX_GROUPS);
    return [{ ...error, detail: `${error.detail}: ${BIND_BY_NAME}` }];
  }
  const characters = [name, ...groups].reduce((sum, each) => sum + each.length, 0);
  if (characters <= MAX_NAME_CHARACTERS) return [];
  const why = `names must have at most ${MAX_NAME_CHARACTERS} characters together: ${BIND_BY_NAME}`;
  return [invalidValue('groups', groups.length, why)];
}

const BIND_BY_NAME = 'bind by name, or use a service account';

const boundErrors = ({ spec }: TokenInput['sent']): FieldError[] =>
  spec?.boundObjectRef === undefined
    ? []
    : [forbiddenField('spec.boundObjectRef', 'a pass for a person is not bound to an object')];
