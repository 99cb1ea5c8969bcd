import { importJWK } from 'jose';
import { expect, it } from 'vitest';
import { peopleNamespace, personAccountName, recordIdOf } from '../../api/connector.ts';
import type { ApiObject } from '../../api/kind.ts';
import { openAnswer } from './order-answers.ts';
import { type AskedAccount, type OrderParts, TokenOrder } from './order-token.ts';

/**
 * What connectors of contract 1 read and write, recorded. They are older than the server when it is replaced, so these
 * texts stay as they are: what a new server orders is only more than this, and what it accepts never less.
 */

const ORDER = '2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d';
const NOW = Date.UTC(2026, 7, 1, 12, 0, 0, 999);
const PRIVATE_KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'FwUNJBX2BOiLR_mfpZDLqiQ85yo5o0I5SLTfLl9xeJo',
  y: 'g4Le43LG1ZfBJeaGLJ0c8wfKAuG-h98TLd2672ItfqY',
  d: 'kPjv--78f3TMjGhEaCvca7ZMndQHdizJFuXDpYqOLog',
};
const ANSWER = [
  'eyJhbGciOiJFQ0RILUVTIiwiZW5jIjoiQTI1NkdDTSIsImVwayI6eyJ4IjoiR2VpUDFRNU1pNVllV18zb3B3cTc3aThNOHlPNno5',
  'U0RKbll6cTlldTZRYyIsImNydiI6IlAtMjU2Iiwia3R5IjoiRUMiLCJ5IjoialdqWFFlMDlxNW1ValUzTVJ1V2NsZkMxOWNGdTIx',
  'Y0VrNTFxcFloVjhHRSJ9fQ..Jnhbk8wSE_NaQXMZ.gAoXcybv371BLVYeP_EcX8oqGoszkGbK0bxe0dc_nSZ5FmH8J1QzDw2tj0K',
  '7jNVXWDDsFHqIeEyDYipMf2ogWksPEe5rpQ_OTsw85caWe6QR-QXrhCTO6X9wZbxVwNZe1zHiUm-qde8gw1HW-SPnBBO0wqNYJMG',
  'l3tjJ-NIVvpn0-eU8fZPtd-Icg57MbRvvJwkFvwuONHzXl5Kpy9L7.bIv_nIZWZILPpbEF0DD9aA',
].join('');
const REFUSAL = [
  'eyJhbGciOiJFQ0RILUVTIiwiZW5jIjoiQTI1NkdDTSIsImVwayI6eyJ4IjoiQXFaRG9QQWdndndsbDBFd1RqX1JaVEhlNXY0YU0y',
  'QVVhZHZ4aldaN2dtTSIsImNydiI6IlAtMjU2Iiwia3R5IjoiRUMiLCJ5Ijoid1Q4Szc4enJhbFFNRkQ5LXRPM09wUjRnWU40anJ0',
  'bzRhYmNhODBFaXh4WSJ9fQ..ETQ3p1HJzQqQk0zC.xsip59jRx98n1tYsltW_mwDqv7NHu4AjrvksC3JtlRh9u2fypsUkbtsVebo',
  'RgLRat1Nmackx1FoKTLq7QddlcWy82vk5oN9jY8zEF5xREWQkyrYnHW3q6eK2jgu3tf5CjV1_3OXbA7zpvPq3_Ofl5ZLcrPiCfHa',
  'Ag2Kj0QTOzMU9U4E.YARaFNOSBiMwAkcuPj8-Kw',
].join('');

/** The order as it is stored, with the two parts of its JWS that are not random. */
async function ordered(account: AskedAccount, sent: object = {}): Promise<unknown[]> {
  const stored: ApiObject[] = [];
  const connector = {
    metadata: {},
    spec: { clusterUID: 'uid-prod' },
    status: { renewTime: '2026-08-01T12:00:00Z', revocable: true },
  };
  const parts = {
    catalog: {
      tokenOrders: { group: 'clusterpass.dev', version: 'v1alpha1', kind: 'TokenOrder', resource: 'tokenorders' },
    },
    reader: { find: () => ({ object: () => connector }) },
    writer: { create: async (_kind: unknown, _in: unknown, object: ApiObject) => stored.push(object) },
    answers: { of: async (_key: string, _signal: unknown, create: () => Promise<unknown>) => void (await create()) },
    issuers: {
      baseUrl: 'https://pass.example',
      issuerFor: (name: string) => `https://pass.example/orchestrator/${name}`,
    },
    keyRing: { signing: () => ({ alg: 'ES256', kid: 'kid-1', sign: async () => 'c2ln' }) },
    now: () => NOW,
    randomUUID: () => ORDER,
  } as unknown as OrderParts;
  const caller = { as: () => ({ name: 'carl', uid: '', groups: ['devs'], extra: {} }) };
  const annotations = { 'clusterpass.dev/cluster-id': 'uid-of-kube-system' };
  const order = new TokenOrder(parts, {
    cluster: { name: 'prod', uid: 'uid-prod', object: () => ({ metadata: { annotations } }) },
    tokenRequest: { sent, audiences: ['vault'], request: { caller, annotate: () => {} } },
    account,
  } as unknown as ConstructorParameters<typeof TokenOrder>[1]);
  await expect(order.place(900)).rejects.toMatchObject({ status: { code: 504 } });
  const [{ metadata, spec } = { metadata: {}, spec: {} }] = stored;
  const { order: jws = '', ...rest } = spec as { order?: string };
  const [header, payload] = jws.split('.', 2).map((part) => Buffer.from(part, 'base64url').toString());
  return [
    metadata,
    rest,
    header,
    payload?.replace(/"answerKey":\{"kty":"EC",.*"crv":"P-256"\}\}$/, '"answerKey":KEY}'),
  ];
}

const HEADER = '{"alg":"ES256","kid":"kid-1","typ":"clusterpass-order+jwt"}';
const claims = (asked: string, revocable: boolean): string =>
  '{"iss":"https://pass.example/orchestrator/prod","aud":"https://pass.example/connectors/prod",' +
  `"iat":1785585600,"exp":1785585615,"jti":"${ORDER}",` +
  '"cluster":{"name":"prod","uid":"uid-prod","id":"uid-of-kube-system"},' +
  `"requester":{"user":"carl","groups":["devs"]},${asked},"revocable":${revocable},"answerKey":KEY}`;
const REST = { expirationTimestamp: '2026-08-01T12:00:15Z' };

it('an order for an account, and one that is bound to an object', async () => {
  const account = { namespace: 'ci', name: 'builder' };
  const request = '"namespace":"ci","serviceAccount":"builder","audiences":["vault"],"expirationSeconds":900';
  expect(await ordered(account)).toEqual([{ name: ORDER }, REST, HEADER, claims(`"request":{${request}}`, true)]);
  const bound = '"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"web-0","uid":"u"}';
  const sent = { spec: JSON.parse(`{${bound}}`) };
  expect((await ordered(account, sent))[3]).toBe(claims(`"request":{${request},${bound}}`, false));
});

it('an order for a person', async () => {
  const person = { name: 'carl', group: 'devs' } as NonNullable<AskedAccount['person']>;
  const asked = '"person":{"name":"carl","group":"devs","audiences":["vault"],"expirationSeconds":900}';
  expect((await ordered({ namespace: '', name: '', person }))[3]).toBe(claims(asked, true));
  expect(peopleNamespace('devs')).toBe('clusterpass-people-devs');
  expect(personAccountName('Carl@example.com')).toBe('carl-example-com-8da2ba7634');
});

it('an answer and a refusal, sealed to the key of the order', async () => {
  const key = (await importJWK(PRIVATE_KEY, 'ECDH-ES')) as CryptoKey;
  const answer = await openAnswer(ANSWER, key, ORDER, 'prod');
  expect([answer.status, answer.bytes.toString()]).toEqual([
    201,
    '{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"x.y.z"}}',
  ]);
  expect((await openAnswer(REFUSAL, key, ORDER, 'prod')).refusal).toEqual({
    reason: 'NamespaceNotAllowed',
    message: 'namespace ci is not allowed',
  });
  await expect(openAnswer(ANSWER, key, 'another', 'prod')).rejects.toMatchObject({ status: { code: 502 } });
  await expect(openAnswer(`${ANSWER.slice(0, -4)}AAAA`, key, ORDER, 'prod')).rejects.toMatchObject({
    status: { code: 502 },
  });
});

it('the record of a token, by the Secret that it is bound to', () => {
  const secret = (name: string) => ({ jti: 'own', 'kubernetes.io': { secret: { name } } });
  expect(recordIdOf(secret(`clusterpass-pass-${ORDER}`))).toBe(ORDER);
  expect(recordIdOf(secret('mine'))).toBe('own');
});
