import type { Caller } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { endpointsInForce } from '../../api/clusters/confirmed-endpoint.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { credentialIdOf, ISSUED_CREDENTIAL_ID } from '../../api/credential-id.ts';
import { type FieldError, forbiddenField, invalidValue, tooMany } from '../../api/field-error.ts';
import type { TokenRequest } from '../../api/kinds/token-request.ts';
import { fleetKey } from '../../api/object-key.ts';
import { conflict, forbidden, notFound } from '../../api/status.ts';
import { terminating } from '../../objects/parents.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { buildPersonClaims, isSystemName } from '../../tokens/person-claims.ts';
import { parseTokenRequestOptions } from '../options/write-options.ts';
import { checkNamespace } from '../write/read-body.ts';
import type { PersonActor } from './actor-claim.ts';
import { answerTokenRequest, grantedTokenRequest } from './answer-token-request.ts';
import { parseTokenRequest } from './parse-token-request.ts';
import type { IssueToken } from './pass-use.ts';
import { checkSignature, type ReleaseParts, releaseToken } from './release-token.ts';
import { requireLifetime, serverErrors, warnOfEarlierExpiry } from './token-request-annotations.ts';
import { checkName, requireValidRequest } from './validate-token-request.ts';

interface IssueUserpassParts extends ReleaseParts {
  readonly catalog: Pick<Catalog, 'clusters'>;
  readonly reader: Pick<ObjectReader, 'findFresh'>;
  readonly productName: string;
  /** Throws while the clock is known to be wrong. */
  readonly requireRightClock: () => void;
  readonly peopleIssuerOf: (cluster: string) => string;
  /** Whether the cluster issues its own tokens, so that it does not trust those of this server. */
  readonly issuesOwnTokens: (cluster: StoredObject) => boolean;
  readonly maxExpirationSeconds: number;
  readonly actorOf: PersonActor;
  readonly now: () => number;
  readonly randomUUID: () => string;
}

/** A person who leaves keeps the pass: a cluster that verifies by the key set accepts it until it expires. */
const MAX_SECONDS = 3600;
/** More would make a token that servers refuse for its length. */
const MAX_GROUPS = 100;
const MAX_NAME_CHARACTERS = 8192;

/** `create` of `clusters/userpass`: a pass whose subject is the caller, for one cluster. See ADR 32. */
export function createIssueUserpassHandler(parts: IssueUserpassParts): IssueToken {
  const { catalog, reader } = parts;
  return async (request, { permissionEndsAt, maxPassSeconds } = {}) => {
    const { name: cluster } = request.target;
    const options = parseTokenRequestOptions(request.query);
    const issuer = parts.peopleIssuerOf(cluster);
    // The audience follows from the cluster, so it need not be sent.
    const audienceProblem = (audience: string): string | undefined =>
      audience === issuer ? undefined : `the audience of a pass for a person is ${goQuote(issuer)}`;
    const tokenRequest = parseTokenRequest(request, options.fieldValidation, audienceProblem, {
      needsAudiences: false,
    });
    const { sent, annotations } = tokenRequest;
    checkNamespace(sent, { namespaced: true }, '');
    const person = personOf(request.caller, catalog.clusters, cluster);
    const stored = await reader.findFresh(catalog.clusters, fleetKey(cluster));
    if (stored === undefined) throw notFound(catalog.clusters, cluster);
    if (stored.deletionTimestamp !== undefined) throw terminating(catalog.clusters, stored, stored);
    if (parts.issuesOwnTokens(stored)) {
      throw conflict(catalog.clusters, cluster, 'it issues its own tokens, so there are no passes for people');
    }
    checkName(sent, cluster, 'cluster');
    requireValidRequest([...tokenRequest.errors, ...boundErrors(sent), ...person.errors]);
    requireValidRequest(serverErrors(annotations, () => endpointsInForce(stored.object(), parts.productName)));
    checkSignature(parts, [issuer], request.warn);

    parts.requireRightClock();
    const now = parts.now();
    const requested = tokenRequest.expirationSeconds;
    const lifetime = requireLifetime(request, annotations, {
      requested,
      now,
      serverSeconds: parts.maxExpirationSeconds,
      sortSeconds: MAX_SECONDS,
      credentialEndsAt: request.caller.expiresAt,
      permissionEndsAt,
      maxPassSeconds,
    });
    const claims = buildPersonClaims({
      issuer,
      clusterUid: stored.uid,
      ...person,
      actor: parts.actorOf(request.actor),
      expirationSeconds: lifetime.seconds,
      now,
      randomUUID: parts.randomUUID,
    });
    warnOfEarlierExpiry(request, requested, lifetime);
    if (!options.dryRun) request.annotate(ISSUED_CREDENTIAL_ID, credentialIdOf(claims.jti));
    const token = await releaseToken(parts, request, claims, {
      dryRun: options.dryRun,
      tracked: annotations.tracked,
      cluster,
      kind: catalog.clusters,
    });
    return answerTokenRequest(request, grantedTokenRequest(sent, { holder: stored, claims, token, now }), sent);
  };
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
  return { name, groups: own, errors: groupErrors(name, own) };
}

function groupErrors(name: string, groups: readonly string[]): FieldError[] {
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

const boundErrors = ({ spec }: TokenRequest): FieldError[] =>
  spec?.boundObjectRef === undefined
    ? []
    : [forbiddenField('spec.boundObjectRef', 'a pass for a person is not bound to an object')];
