import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prepareForCreate, prepareForUpdate } from '../../objects/prepare-object.ts';
import { validateObject } from '../../objects/validate-object.ts';
import { createAddressRules } from '../clusters/address-rules.ts';
import { CONFIRMED_ANNOTATION, endpointDigest, endpointsInForce, isConfirmed } from '../clusters/confirmed-endpoint.ts';
import { type ApiObject, NOTHING_UNCHANGED } from '../kind.ts';
import { clusterKind } from './cluster.ts';
import type { ApiEndpoints, ClusterStatus } from './cluster-spec.ts';

const FIELD = 'orchestratorApiEndpoints';
const NOW = Date.UTC(2026, 0, 1);
const kindWith = (holdChanges: boolean) =>
  clusterKind('orchestrator', { rules: createAddressRules(), now: () => NOW, holdChanges });
const HOLD = kindWith(true);
const FREE = kindWith(false);

const at = (...hosts: string[]): ApiEndpoints => ({
  serverEndpoints: hosts.map((host) => ({ serverAddress: `https://${host}` })),
});
const sent = (
  endpoints: ApiEndpoints | undefined,
  annotations?: Record<string, string>,
  more: object = {},
): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'alpha', ...(annotations === undefined ? {} : { annotations }) },
  spec: { ...(endpoints === undefined ? {} : { [FIELD]: endpoints }), ...more },
});
const create = (object: ApiObject, kind = HOLD): ApiObject =>
  prepareForCreate(
    kind,
    { cluster: '', namespace: '', name: 'alpha' },
    object,
    { uid: 'u', now: NOW },
    {
      computedAnnotations: [],
      keepStatus: false,
    },
  );
const update = (old: ApiObject, object: ApiObject, kind = HOLD, part: 'object' | 'status' = 'object'): ApiObject =>
  prepareForUpdate(kind, object, old, part, { computedAnnotations: [] });
const confirmed = (object: ApiObject): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [CONFIRMED_ANNOTATION]: endpointDigest(object, 'orchestrator') } },
});
const inForce = (object: ApiObject): ApiEndpoints => endpointsInForce(object, 'orchestrator');
const condition = ({ status }: ApiObject) =>
  (status as ClusterStatus | undefined)?.conditions?.find(({ type }) => type === 'EndpointsConfirmed');

describe('A14: a change of the endpoints of a cluster', () => {
  const first = create(sent(at('a')));

  it('is not its registration', () => {
    expect([inForce(first), condition(first)]).toEqual([at('a'), undefined]);
  });

  it('is none of a cluster without a spec', () => {
    const { spec: _, ...bare } = create(sent(undefined));
    expect([inForce(update(bare, bare)), condition(update(bare, bare))]).toEqual([{}, undefined]);
  });

  it.each([
    ['the address', at('b')],
    ['the network of an address', { serverEndpoints: [{ clientCIDR: '10.0.0.0/8', serverAddress: 'https://a' }] }],
    ['a further address', at('a', 'b')],
    ['the CA', { ...at('a'), caBundle: 'Q0E=' }],
    ['all of it', undefined],
  ])('waits, and is visible as a condition: %s', (_, endpoints) => {
    const next = update(first, sent(endpoints));
    expect(inForce(next)).toEqual(at('a'));
    expect((next.spec as Record<string, unknown>)[FIELD]).toEqual(endpoints);
    expect(condition(next)).toMatchObject({ status: 'False', reason: 'ChangeWaits' });
    expect(condition(next)?.message).toContain('clusterpass confirm alpha');
    expect(next.metadata.generation).toBe(2);
  });

  it('is in force when it is confirmed, in the same write or later', () => {
    expect(inForce(update(first, confirmed(sent(at('b')))))).toEqual(at('b'));
    const waiting = update(first, sent(at('b')));
    const next = update(waiting, confirmed(sent(at('b'))));
    expect(inForce(next)).toEqual(at('b'));
    expect(next.spec).toEqual({ [FIELD]: at('b') });
    expect(condition(next)).toMatchObject({ status: 'True', reason: 'Confirmed' });
  });

  it('is not confirmed by the value of other endpoints, of another cluster, or of an earlier change', () => {
    const { annotations = {} } = confirmed(sent(at('c'))).metadata;
    expect(inForce(update(first, sent(at('b'), annotations)))).toEqual(at('a'));
    const other = confirmed({ ...sent(at('b')), metadata: { name: 'beta' } }).metadata.annotations ?? {};
    expect(inForce(update(first, sent(at('b'), other)))).toEqual(at('a'));
    const second = update(first, confirmed(sent(at('b'))));
    expect(inForce(update(second, { ...sent(at('a')), metadata: second.metadata }))).toEqual(at('b'));
  });

  it('ends when the previous endpoints are written', () => {
    const next = update(update(first, sent(at('b'))), sent(at('a')));
    expect([inForce(next), next.spec]).toEqual([at('a'), { [FIELD]: at('a') }]);
    expect(condition(next)).toMatchObject({ status: 'True' });
  });

  it('does not stop the use of a credential that was confirmed for the endpoints in force', () => {
    const controller = { authInfo: { controller: { namespace: 'fleet', name: 'alpha' } } };
    const old = create(confirmed(sent(at('a'), undefined, controller)));
    const next = update(old, { ...sent(at('b'), undefined, controller), metadata: old.metadata });
    expect([isConfirmed(next, 'orchestrator'), inForce(next)]).toEqual([true, at('a')]);
  });

  it('cannot be hidden by a writer of the status', () => {
    const waiting = update(first, sent(at('b')));
    for (const conditions of [[], [{ type: 'EndpointsConfirmed', status: 'True', reason: 'Confirmed' }]]) {
      const next = update(waiting, { ...waiting, status: { conditions } }, HOLD, 'status');
      expect(condition(next)).toMatchObject({ status: 'False', reason: 'ChangeWaits' });
    }
  });

  it('cannot be written to the field of the server', () => {
    const field = (object: ApiObject, old?: ApiObject) =>
      validateObject(HOLD, object, { cluster: '', unchanged: NOTHING_UNCHANGED, ...(old && { old }) }).map(
        (error) => error.field,
      );
    const made = { confirmedEndpoints: at('evil') };
    expect(field(create(sent(at('a'), undefined, made)))).toEqual(['spec.confirmedEndpoints']);
    expect(field(update(first, sent(at('a'), undefined, made)), first)).toEqual(['spec.confirmedEndpoints']);
    expect(field(update(first, sent(at('b'), undefined, made)), first)).toEqual(['spec.confirmedEndpoints']);
    const waiting = update(first, sent(at('b')));
    expect(field(update(waiting, sent(at('b'), undefined, made)), waiting)).toEqual(['spec.confirmedEndpoints']);
    // As it was read.
    expect(field(update(waiting, sent(at('c'), undefined, { confirmedEndpoints: at('a') })), waiting)).toEqual([]);
    expect(field(update(waiting, sent(at('a'), undefined, { confirmedEndpoints: at('a') })), waiting)).toEqual([]);
  });

  it('is in force at once without the option, and one that waited goes on waiting', () => {
    expect(inForce(update(first, sent(at('b')), FREE))).toEqual(at('b'));
    const waiting = update(first, sent(at('b')));
    const labelled = { ...waiting, metadata: { ...waiting.metadata, labels: { a: 'b' } } };
    expect(inForce(update(waiting, labelled, FREE))).toEqual(at('a'));
    expect(inForce(update(waiting, sent(at('c')), FREE))).toEqual(at('c'));
  });

  it('random histories: clients get what was registered or confirmed last', () => {
    const host = fc.constantFrom('a', 'b', 'c');
    const step = fc.record({ host, confirms: fc.boolean(), part: fc.constantFrom('object', 'status', 'label') });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let object = create(sent(at('a')));
        let model = 'a';
        for (const { host: next, confirms, part } of steps) {
          if (part === 'status') object = update(object, { ...object, status: { type: next } }, HOLD, 'status');
          else if (part === 'label') {
            object = update(object, { ...object, metadata: { ...object.metadata, labels: { next } } });
          } else {
            // Without the annotation of an earlier confirmation, which may be for these endpoints.
            object = update(object, confirms ? confirmed(sent(at(next))) : sent(at(next)));
            if (confirms) model = next;
          }
          expect(inForce(object)).toEqual(at(model));
        }
      }),
    );
  });
});
