import { describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { addCluster, grantClusters, listAs, namesIn, PUBLIC_LIST } from './support/fleet.ts';
import { CLUSTERS } from './support/paths.ts';
import type { Server } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await addCluster(server, 'dev-1', { labels: { env: 'dev', tier: '1', 'example.com/owner': 'shop' } });
  await addCluster(server, 'dev-2', { labels: { env: 'dev', tier: '2', empty: '' } });
  await addCluster(server, 'prod-1', { labels: { env: 'prod', tier: '10' } });
  await addCluster(server, 'prod-2', { labels: { env: 'prod', tier: 'gold' } });
  await addCluster(server, 'bare');
  const body = { status: { type: 'kind', version: 'v1.36.4' } };
  const headers = { 'Content-Type': 'application/merge-patch+json' };
  expect((await server.call('PATCH', `${CLUSTERS}/dev-1/status`, { body, headers })).code).toBe(200);
  await grantClusters(server, 'vera', 'vera', { clusters: 'env' });
});

const selected = async (parameter: string, selector: string): Promise<string[]> =>
  namesIn(await server.call('GET', `${PUBLIC_LIST}?${parameter}=${encodeURIComponent(selector)}`));

describe('5.5: what label selectors select', () => {
  it.each([
    ['', ['bare', 'dev-1', 'dev-2', 'prod-1', 'prod-2']],
    ['env', ['dev-1', 'dev-2', 'prod-1', 'prod-2']],
    ['!env', ['bare']],
    ['env=dev', ['dev-1', 'dev-2']],
    ['env==dev', ['dev-1', 'dev-2']],
    ['env!=dev', ['bare', 'prod-1', 'prod-2']],
    ['env in (dev,prod),tier=1', ['dev-1']],
    ['env in ()', []],
    ['env notin (dev)', ['bare', 'prod-1', 'prod-2']],
    ['tier>1', ['dev-2', 'prod-1']],
    ['tier<2', ['dev-1']],
    ['empty=', ['dev-2']],
    ['empty', ['dev-2']],
    [' env\t=\r\ndev , tier ', ['dev-1', 'dev-2']],
    ['example.com/owner=shop', ['dev-1']],
    ['env=dev,env=prod', []],
    // Known to bindings only: it is no label of the object.
    ['kubernetes.io/metadata.name=dev-1', []],
    ['constructor', []],
    ['!toString', ['bare', 'dev-1', 'dev-2', 'prod-1', 'prod-2']],
  ])('%j', async (selector, names) => expect(await selected('labelSelector', selector)).toEqual(names));

  it('selects among the clusters that the caller may see', async () => {
    expect(namesIn(await listAs(server, 'vera', '?labelSelector=env!%3Ddev'))).toEqual(['prod-1', 'prod-2']);
  });
});

const NAME_PART =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

describe('C-G, 5.5: label selectors that cannot be parsed are 400', () => {
  it.each([
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['-a', `unable to parse requirement: <nil>: Invalid value: "-a": ${NAME_PART}`],
    ['a=$', `unable to parse requirement: values[0][a]: Invalid value: "$": ${LABEL_VALUE}`],
    [
      'a>x',
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ])('%j', async (selector, message) => {
    for (const watch of ['', '&watch=true']) {
      const path = `${PUBLIC_LIST}?labelSelector=${encodeURIComponent(selector)}${watch}`;
      expectStatus(await server.call('GET', path), { code: 400, reason: 'BadRequest', message });
    }
  });
});

describe('L-40, L-42: what field selectors select', () => {
  it.each([
    ['metadata.name=dev-1', ['dev-1']],
    ['metadata.name==dev-1', ['dev-1']],
    ['metadata.name!=dev-1', ['bare', 'dev-2', 'prod-1', 'prod-2']],
    [',,metadata.name=dev-1,', ['dev-1']],
    ['metadata.name=dev-1,metadata.name=dev-2', []],
    ['metadata.name= dev-1', []],
    ['metadata.name=dev\\,1', []],
    ['status.version=v1.36.4', ['dev-1']],
    ['status.type!=kind', ['bare', 'dev-2', 'prod-1', 'prod-2']],
    ['status.type=', ['bare', 'dev-2', 'prod-1', 'prod-2']],
  ])('%j', async (selector, names) => expect(await selected('fieldSelector', selector)).toEqual(names));

  it('both selectors must hold', async () => {
    const query = '?labelSelector=env%3Ddev&fieldSelector=metadata.name!%3Ddev-1';
    expect(namesIn(await server.call('GET', `${PUBLIC_LIST}${query}`))).toEqual(['dev-2']);
  });
});

describe('C-G, L-41, L-42: field selectors that cannot be parsed are 400', () => {
  it.each([
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['a=b,c', "invalid selector: 'a=b,c'; can't understand 'c'"],
    ['metadata.name=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['metadata.name=a=b', 'invalid field selector: unescaped character in value: 61'],
    ['spec.foo=x', 'field label not supported: spec.foo'],
    // A17: hidden fields cannot be selected by.
    ['spec.authInfo.user.name=x', 'field label not supported: spec.authInfo.user.name'],
    ['metadata.uid=x', 'field label not supported: metadata.uid'],
    // Clusters have no namespace here.
    ['metadata.namespace=default', 'field label not supported: metadata.namespace'],
    ['__proto__=x', 'field label not supported: __proto__'],
  ])('%j', async (selector, message) => {
    for (const watch of ['', '&watch=true']) {
      const path = `${PUBLIC_LIST}?fieldSelector=${encodeURIComponent(selector)}${watch}`;
      expectStatus(await server.call('GET', path), { code: 400, reason: 'BadRequest', message });
    }
  });
});
