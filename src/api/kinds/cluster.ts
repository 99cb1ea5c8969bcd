import { Type } from 'typebox';
import {
  checkEach,
  type FieldError,
  forbiddenField,
  invalidValue,
  required,
  unsupportedValue,
} from '../field-error.ts';
import type { ApiObject, Kind, TableColumn } from '../kind.ts';
import { ageColumn, nameColumn } from '../table-columns.ts';
import { text, timestamp, typeMeta } from './meta.ts';

export const CLUSTER_GROUP = 'clusterregistry.k8s.io';

export interface ServerEndpoint {
  clientCIDR?: string;
  serverAddress?: string;
}

export interface ApiEndpoints {
  serverEndpoints?: ServerEndpoint[];
  caBundle?: string;
}

export interface ClusterCondition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastHeartbeatTime?: string;
  lastTransitionTime?: string;
}

export interface ClusterStatus {
  conditions?: ClusterCondition[];
  type?: string;
  version?: string;
}

/** In storage the endpoints have this name whatever word the deployment shows, so the word can be changed later. */
const STORED_ENDPOINTS = 'apiEndpoints';

export const endpointsField = (productName: string): string => `${productName}ApiEndpoints`;

function renameInSpec(object: ApiObject, from: string, to: string): ApiObject {
  const spec = object.spec as Record<string, unknown> | undefined;
  if (spec === undefined || !Object.hasOwn(spec, from)) return object;
  const { [from]: endpoints, ...rest } = spec;
  return { ...object, spec: { ...rest, [to]: endpoints } };
}

const AuthReferenceSchema = Type.Object(
  {
    kind: text('The kind of the referenced object.'),
    name: text('The name of the referenced object.'),
    namespace: text('The namespace of the referenced object.'),
  },
  { goType: 'ObjectReference', description: 'A reference to where credentials are kept; never the credentials.' },
);

const ConditionSchema = Type.Object(
  {
    type: text('What the condition is about, e.g. `Ready`.'),
    status: text('`True`, `False` or `Unknown`.'),
    lastHeartbeatTime: timestamp('When the condition was last looked at.'),
    lastTransitionTime: timestamp('When the status last changed.'),
    reason: text('One word for the last change of status.'),
    message: text('Details of the last change of status, for people.'),
  },
  { goType: 'ClusterCondition', description: 'One thing that was found out about the cluster.' },
);

const EndpointsSchema = Type.Object(
  {
    serverEndpoints: Type.Optional(
      Type.Array(
        Type.Object(
          {
            clientCIDR: text('Clients whose address is in this network use this endpoint.'),
            serverAddress: text('The address, an https URL.'),
          },
          { goType: 'ServerAddressByClientCIDR', description: 'An address for clients in one network.' },
        ),
        {
          goType: '[]ServerAddressByClientCIDR',
          description: 'Addresses of the API server; a client uses the first whose network holds its own address.',
        },
      ),
    ),
    caBundle: Type.Optional(
      Type.String({
        format: 'byte',
        goType: '[]uint8',
        description: 'Certificate authorities of the API server, PEM in base64.',
      }),
    ),
  },
  { goType: 'KubernetesAPIEndpoints', description: 'How clients reach the API server of the cluster.' },
);

const StatusSchema = Type.Object(
  {
    conditions: Type.Optional(
      Type.Array(ConditionSchema, {
        goType: '[]ClusterCondition',
        description: 'What is known about the state of the cluster.',
      }),
    ),
    type: text('The kind of cluster, e.g. its distribution.'),
    version: text('The version that the cluster runs.'),
  },
  { goType: 'ClusterStatus', description: 'What was observed. Written through the status subresource only.' },
);

const IPV4_CIDR = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/;
const IPV6_CIDR = /^[0-9a-fA-F:.]{2,45}\/(\d{1,3})$/;

function isCidr(value: string): boolean {
  const v4 = IPV4_CIDR.exec(value);
  if (v4 !== null) return v4.slice(1, 5).every((octet) => Number(octet) <= 255) && Number(v4[5]) <= 32;
  const v6 = IPV6_CIDR.exec(value);
  return v6 !== null && value.includes(':') && Number(v6[1]) <= 128 && URL.canParse(`https://[${value.split('/')[0]}]`);
}

const ADDRESS = /^https:\/\/([\x21-\x7e]+)$/;

/**
 * A URL that means exactly what it shows: no credentials, no path, and nothing the parser had to repair. It
 * reads `https://0x7f.1` as 127.0.0.1 and `https://h:06443` as port 6443; people and other parsers may not.
 */
function addressProblem(address: string): string | undefined {
  if (address.length > 2048) return 'must be no more than 2048 bytes';
  const authority = ADDRESS.exec(address)?.[1]?.replace(/\/$/, '').toLowerCase();
  if (authority === undefined || !URL.canParse(address)) {
    return 'must be an https URL with a host and an optional port, e.g. https://10.0.0.1:6443';
  }
  const url = new URL(address);
  if (url.pathname !== '/' || /[/?#\\]/.test(authority)) return 'must not have a path, query or fragment';
  if (url.port === '0') return 'must not use port 0';
  if (url.hostname.length > 253) return 'must have a host of no more than 253 bytes';
  if (authority !== url.host && authority !== `${url.host}:443`) {
    return `must be written as it is understood, as https://${url.host}`;
  }
  return undefined;
}

/** Every caller sees the bundle, so the usual mistake with PEM files must not get that far. */
function bundleProblem(caBundle: string): string | undefined {
  const holdsKey = Buffer.from(caBundle, 'base64').toString('latin1').includes('PRIVATE KEY-----');
  return holdsKey ? 'must hold certificates only, and there is a private key in it' : undefined;
}

function validateEndpoints(endpoints: ApiEndpoints, at: string): FieldError[] {
  const errors = checkEach(endpoints.serverEndpoints ?? [], (endpoint, index) =>
    validateEndpoint(endpoint, `${at}.serverEndpoints[${index}]`),
  );
  const bundle = bundleProblem(endpoints.caBundle ?? '');
  if (bundle !== undefined) errors.push(forbiddenField(`${at}.caBundle`, bundle));
  return errors;
}

function validateEndpoint(endpoint: ServerEndpoint, here: string): FieldError[] {
  const errors: FieldError[] = [];
  const address = endpoint.serverAddress ?? '';
  if (address === '') errors.push(required(`${here}.serverAddress`));
  else if (address.includes('@')) {
    // Not quoted in the answer, which may end up in a log.
    errors.push(forbiddenField(`${here}.serverAddress`, 'must not contain credentials'));
  } else {
    const problem = addressProblem(address);
    if (problem !== undefined) errors.push(invalidValue(`${here}.serverAddress`, address, problem));
  }
  const cidr = endpoint.clientCIDR ?? '';
  if (cidr !== '' && !isCidr(cidr)) {
    errors.push(invalidValue(`${here}.clientCIDR`, cidr, 'must be a network in CIDR form, e.g. 10.0.0.0/8 or ::/0'));
  }
  return errors;
}

function validateStatus(status: ClusterStatus): FieldError[] {
  return checkEach(status.conditions ?? [], (condition, index) => {
    const errors: FieldError[] = [];
    const here = `status.conditions[${index}]`;
    if ((condition.type ?? '') === '') errors.push(required(`${here}.type`));
    if ((condition.status ?? '') === '') errors.push(required(`${here}.status`));
    else if (!['True', 'False', 'Unknown'].includes(condition.status ?? '')) {
      errors.push(unsupportedValue(`${here}.status`, condition.status, ['True', 'False', 'Unknown']));
    }
    return errors;
  });
}

const statusOf = (object: ApiObject): ClusterStatus => (object.status ?? {}) as ClusterStatus;

const readyColumn: TableColumn = {
  name: 'Ready',
  type: 'string',
  format: '',
  description: 'Whether the cluster can be reached and is healthy.',
  priority: 0,
  cell: (object) => statusOf(object).conditions?.find((condition) => condition.type === 'Ready')?.status ?? 'Unknown',
};

const statusColumn = (name: string, field: 'type' | 'version', description: string): TableColumn => ({
  name,
  type: 'string',
  format: '',
  description,
  priority: 0,
  cell: (object) => statusOf(object)[field] ?? null,
});

/** Shown with `-o wide` only. */
const wideColumn = (name: string, description: string, cell: TableColumn['cell']): TableColumn => ({
  name,
  type: 'string',
  format: '',
  description,
  priority: 1,
  cell,
});

export function clusterKind(productName: string): Kind {
  const field = endpointsField(productName);
  return {
    group: CLUSTER_GROUP,
    version: 'v1alpha1',
    kind: 'Cluster',
    listKind: 'ClusterList',
    resource: 'clusters',
    singular: 'cluster',
    shortNames: [],
    style: 'custom',
    inCluster: false,
    namespaced: false,
    hasStatus: true,
    countsGenerations: true,
    nameRule: 'subdomain',
    selectableFields: {
      'status.type': (object) => statusOf(object).type ?? '',
      'status.version': (object) => statusOf(object).version ?? '',
    },
    schema: Type.Object(
      {
        ...typeMeta,
        spec: Type.Optional(
          Type.Object(
            {
              [field]: Type.Optional(EndpointsSchema),
              authInfo: Type.Optional(
                Type.Object(
                  { user: Type.Optional(AuthReferenceSchema), controller: Type.Optional(AuthReferenceSchema) },
                  {
                    goType: 'AuthInfo',
                    description:
                      'Where the credentials for this cluster are found. Shown only to those who may change it.',
                  },
                ),
              ),
            },
            { goType: 'ClusterSpec', description: 'How the cluster is reached.' },
          ),
        ),
        status: Type.Optional(StatusSchema),
      },
      { goType: 'Cluster', description: 'A cluster of the fleet, as its clients need to know it.' },
    ),
    applyDefaults: () => {},
    validate: (object) => {
      const spec = (object.spec ?? {}) as Record<string, unknown>;
      return [
        ...validateEndpoints((spec[field] ?? {}) as ApiEndpoints, `spec.${field}`),
        ...validateStatus(statusOf(object)),
      ];
    },
    columns: [
      nameColumn,
      readyColumn,
      statusColumn('Type', 'type', 'The kind of cluster.'),
      statusColumn('Version', 'version', 'The version that the cluster runs.'),
      ageColumn,
      wideColumn('Endpoint', 'The address of the API server, the first of several.', (object) => {
        const endpoints = ((object.spec ?? {}) as Record<string, unknown>)[field] as ApiEndpoints | undefined;
        return endpoints?.serverEndpoints?.[0]?.serverAddress ?? null;
      }),
      wideColumn('Labels', 'The labels of the cluster.', ({ metadata }) =>
        Object.entries(metadata.labels ?? {})
          .map(([key, value]) => `${key}=${value}`)
          .sort()
          .join(','),
      ),
    ],
    storedForm: {
      toStored: (object) => renameInSpec(object, field, STORED_ENDPOINTS),
      fromStored: (object) => renameInSpec(object, STORED_ENDPOINTS, field),
    },
  };
}
