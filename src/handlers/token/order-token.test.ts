import { importJWK } from 'jose';
import { expect, it } from 'vitest';
import { personAccountName, recordIdOf } from '../../api/connector.ts';
import { openAnswer } from './order-token.ts';

/** What a connector seals, recorded: it must be read for ever. */

const ORDER = '2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d';
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

it('A53: an answer and a refusal, sealed to the key of the order', async () => {
  const key = (await importJWK(PRIVATE_KEY, 'ECDH-ES')) as CryptoKey;
  const answer = await openAnswer(ANSWER, key, ORDER, 'prod');
  const body = { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', status: { token: 'x.y.z' } };
  expect([answer.status, answer.body]).toEqual([201, body]);
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

it('the account of a person, readable and of that name alone', () => {
  expect(personAccountName('Carl@example.com')).toBe('carl-example-com-8da2ba76342035a5f601');
  expect(personAccountName('carl@example.com')).not.toBe('carl-example-com-8da2ba76342035a5f601');
  expect(personAccountName('漢')).toMatch(/^[0-9a-f]{20}$/);
});
