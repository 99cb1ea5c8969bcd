import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import { type ApiObject, storageKey } from '../../api/kind.ts';
import { CONTROLLER_FIELD } from '../../api/kinds/cluster.ts';
import { controllerOf } from '../../api/kinds/cluster-spec.ts';
import { UpstreamError } from '../../clusters/upstream/upstream-contract.ts';
import { StoredObject, supportedFields, toStoredBytes } from '../../objects/stored-object.ts';
import { fromAnswer, fromFailure, issuesOwnTokens } from './forward-token.ts';

const { clusters } = createCatalog({ productName: 'orchestrator' });

describe('issuesOwnTokens', () => {
  it('says of a stored cluster what the whole object says', () => {
    const name = fc.option(fc.constantFrom('', 'fleet'), { nil: undefined });
    const controller = fc.option(fc.record({ namespace: name, name }), { nil: undefined });
    const spec = fc.option(fc.record({ authInfo: fc.option(fc.record({ controller }), { nil: undefined }) }), {
      nil: undefined,
    });
    fc.assert(
      fc.property(spec, (value) => {
        const object: ApiObject = { apiVersion: '', kind: '', metadata: { name: 'a' }, spec: value };
        const bytes = toStoredBytes(clusters, object);
        const key = storageKey(clusters, { cluster: '', namespace: '', name: 'a' });
        const stored = new StoredObject(clusters, { key, value: bytes, modRevision: 1, createRevision: 1 });
        expect(issuesOwnTokens(stored)).toBe(controllerOf(object) !== undefined);
      }),
    );
  });

  it('reads a field that callers cannot select by', () => {
    expect(supportedFields(clusters)).not.toContain(CONTROLLER_FIELD);
  });
});

const answered = (status: number, body: string) => ({ status, headers: {}, body: Buffer.from(body) });

describe('C-I: failures of a cluster', () => {
  it.each([
    ['timeout', 504, 'Timeout'],
    ['address', 502, 'BadGateway'],
    ['network', 502, 'BadGateway'],
    ['tls', 502, 'BadGateway'],
    ['credential', 502, 'BadGateway'],
    ['server', 502, 'BadGateway'],
  ] as const)('%s is a %i', (reason, code, word) => {
    const { status } = fromFailure('alpha', new UpstreamError(reason, 'it failed'));
    expect([status.code, status.reason]).toEqual([code, word]);
    expect(status.message).toContain('cluster "alpha" did not issue a token: it failed');
  });

  it.each([
    [400, 'BadRequest'],
    [404, 'NotFound'],
    [409, 'Conflict'],
    [422, 'Invalid'],
  ])('a %i is about the request: it is a %s here, too', (code, reason) => {
    expect(fromAnswer('alpha', 'ci/builder', answered(code, '{"message":"because"}')).status).toMatchObject({
      code,
      reason,
      message: 'cluster "alpha": because',
    });
  });

  it('text of the cluster is passed on without tokens', () => {
    const jwt = `eyJhbGciOiJFUzI1NiJ9.${Buffer.from('{"sub":"jane"}').toString('base64url')}.c2lnbmF0dXJl`;
    const random = 'k3y-Of-Jane-0123456789-ABCDEFGHIJ';
    const message = `no "${jwt}" and no ${random}, serviceaccounts "builder-2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d" not found`;
    const { status } = fromAnswer('alpha', 'ci/builder', answered(404, JSON.stringify({ message })));
    expect(status.message).toBe(
      'cluster "alpha": no "<redacted>" and no <redacted>, ' +
        'serviceaccounts "builder-2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d" not found',
    );
  });

  it.each(['', 'null', '[]', '{"message":{}}', '{"__proto__":{"message":"x"}}', '<html>'])(
    'an error without a Status is still an error: %j',
    (body) => {
      expect(fromAnswer('alpha', 'ci/builder', answered(404, body)).status).toMatchObject({
        code: 404,
        reason: 'NotFound',
        message: 'cluster "alpha": it answered 404',
      });
    },
  );

  it.each(['-1', 'soon', '1e9', '0'])('a Retry-After of %j is not passed on', (retryAfter) => {
    const answer = { status: 429, headers: { 'retry-after': retryAfter }, body: Buffer.from('') };
    expect(fromAnswer('alpha', 'ci/builder', answer).status.details?.retryAfterSeconds).toSatisfy(
      (s: number) => s >= 1 && s <= 60,
    );
  });
});
