import { decodeBody } from '../../api/codec/decode.ts';
import { JsonSyntaxError, parseJson } from '../../api/codec/parse-json.ts';
import { parseYaml } from '../../api/codec/parse-yaml.ts';
import { toPlain } from '../../api/codec/tree.ts';
import { decodeUtf8, requireUnicode } from '../../api/codec/utf8.ts';
import { YamlSyntaxError } from '../../api/codec/yaml-tokens.ts';
import { IN_CLUSTER_ANNOTATION } from '../../api/domain-keys.ts';
import { invalid, invalidValue } from '../../api/field-error.ts';
import type { Kind, ObjectMeta } from '../../api/kind.ts';
import { isDns1123Subdomain } from '../../api/names.ts';
import { type ApiRequest, type RequestBody, type SentBody, sentBody } from '../../api/request.ts';
import { validateDomainKeys } from '../../api/reserved-keys.ts';
import { ApiError, badRequest } from '../../api/status.ts';
import { asJsonObject } from '../../lib/json.ts';
import type { RawAnswer } from '../response/respond.ts';

/**
 * Objects inside clusters, at the paths of the fleet (ADR 29). A write whose body names the cluster is redirected to
 * the path of that cluster. Nothing is read or written here, so no permission is needed here.
 */
export function redirectToCluster(request: ApiRequest, kind: Kind, productName: string): RawAnswer {
  const { body, path, query } = request;
  const cluster = clusterIn(body === undefined ? {} : metadataOf(body, kind), kind, productName);
  // Relative: in front of the server may be a proxy that removes a prefix of the path.
  const up = '../'.repeat(path.split('/').length - 2);
  const search = query.size === 0 ? '' : `?${query.toString()}`;
  const location = `${up}${encodeURIComponent(productName)}/${encodeURIComponent(cluster)}${path}${search}`;
  return {
    type: 'raw',
    code: 307,
    headers: { Location: location, 'Content-Type': 'text/plain; charset=utf-8' },
    body: `this ${kind.kind} is in the cluster ${cluster}\n`,
  };
}

/** The answer to what cannot be redirected: the cluster is in the body of a write, and nowhere else. */
export const livesInCluster = (resource: string, productName: string): ApiError =>
  new ApiError(
    405,
    'MethodNotAllowed',
    `${resource} live inside clusters: send this request below the path of one, /${productName}/CLUSTER ` +
      `(kubectl --server URL/${productName}/CLUSTER, or clusterpass kubectl --cluster CLUSTER). Here, objects with the ` +
      `annotation ${IN_CLUSTER_ANNOTATION} can be written by kubectl apply --server-side, create and replace; ` +
      'clusterpass kubectl also does diff, get and delete of files',
  );

/** The answer to a create of a role or binding below the path of a cluster. kubectl create shows it: no discovery. */
export const livesAtFleet = (resource: string, productName: string): ApiError =>
  new ApiError(
    404,
    'NotFound',
    `${resource} are of the fleet: send this request to the address of the server, without /${productName}/CLUSTER ` +
      `(kubectl --server URL); a FleetRoleBinding holds in some clusters`,
    { details: {} },
  );

function clusterIn(metadata: ObjectMeta, kind: Kind, productName: string): string {
  const { name = '' } = metadata;
  const cluster = metadata.annotations?.[IN_CLUSTER_ANNOTATION];
  if (cluster === undefined) {
    // A misspelled key is named, with the key that was meant.
    const misspelled = validateDomainKeys(kind.kind, metadata);
    if (misspelled.length > 0) throw invalid(kind, name, misspelled);
    throw badRequest(
      `a ${kind.kind} lives inside a cluster: name it in the annotation ${IN_CLUSTER_ANNOTATION}, or send this request ` +
        `below the path of the cluster, /${productName}/CLUSTER (kubectl --server URL/${productName}/CLUSTER)`,
    );
  }
  const problems = isDns1123Subdomain(cluster);
  if (problems.length === 0) return cluster;
  const field = `metadata.annotations[${IN_CLUSTER_ANNOTATION}]`;
  throw invalid(
    kind,
    name,
    problems.map((why) => invalidValue(field, cluster, why)),
  );
}

/** Only what is needed to find the cluster; its path checks the body. */
function metadataOf(body: RequestBody, kind: Kind): ObjectMeta {
  const sent = sentBody(body);
  if (!sent.mediaType.includes('-patch+')) return decodeBody(sent, kind, 'Ignore').value.metadata;
  const patch = parsePatch(sent);
  const { name, annotations } = asJsonObject(asJsonObject(patch).metadata);
  const pairs = Object.entries(asJsonObject(annotations)).filter(([, value]) => typeof value === 'string');
  return {
    ...(typeof name === 'string' ? { name } : {}),
    annotations: Object.fromEntries(pairs) as Record<string, string>,
  };
}

function parsePatch({ bytes, mediaType }: SentBody): unknown {
  try {
    if (!mediaType.endsWith('+yaml')) return toPlain(parseJson(bytes));
    return toPlain(parseYaml(requireUnicode(() => decodeUtf8(bytes))).root);
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof YamlSyntaxError) {
      throw badRequest(`error decoding patch: ${error.message}`);
    }
    throw error;
  }
}
