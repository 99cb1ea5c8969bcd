import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { asUser, createObjects, inNamespace, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Grant, grant, may, REGISTRY_GROUP } from './support/rbac.ts';
import { sharedServer } from './support/shared-server.ts';

/** The rules that apply to a request, and the message of a refusal. */

const server = sharedServer();

beforeAll(() => createObjects(server));

describe('rules, subjects and bindings', () => {
  const taken: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const takeBack of taken.splice(0)) await takeBack();
  });

  const given = async (options: Grant): Promise<void> => {
    taken.push(await grant(server, options));
  };
  const codeOf = async (method: string, path: string, token = asUser('june').token): Promise<number> =>
    (await server.call(method, path, { token })).code;

  describe('P-13: names', () => {
    it('P-14: nothing else in a selector counts', async () => {
      await given({ to: 'june', rules: [may('list', 'pods')] });
      expect(await codeOf('GET', `${inNamespace('pods')}?labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dx`)).toBe(
        200,
      );
    });
  });
});

describe('refusals', () => {
  interface Case {
    readonly method: string;
    readonly path: string;
    readonly verb: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly group?: string;
    readonly name?: string;
    readonly namespace?: string;
  }

  /** P-01, P-02, P-04: a request of each form; src/http/request/request-info.test.ts has all verbs and paths. */
  const CASES: readonly Case[] = [
    {
      method: 'POST',
      path: tokenPath(),
      verb: 'create',
      resource: 'serviceaccounts',
      subresource: 'token',
      name: 'builder',
      namespace: 'ci',
    },
    {
      method: 'GET',
      path: `${inNamespace('pods')}?watch=1&limit=abc&fieldSelector=metadata.name%3Dx`,
      verb: 'watch',
      resource: 'pods',
      namespace: 'ci',
    },
    {
      method: 'PATCH',
      path: `${CLUSTERS}/alpha/status`,
      verb: 'patch',
      group: REGISTRY_GROUP,
      resource: 'clusters',
      subresource: 'status',
      name: 'alpha',
    },
    // C-15: authorization comes before routing.
    {
      method: 'GET',
      path: '/apis/example.com/v1/namespaces/n/gadgets/g',
      verb: 'get',
      group: 'example.com',
      resource: 'gadgets',
      name: 'g',
      namespace: 'n',
    },
  ];

  const bodyFor = (method: string) => (['POST', 'PUT', 'PATCH'].includes(method) ? { body: {} } : {});
  const headersFor = (method: string) =>
    method === 'PATCH' ? { headers: { 'Content-Type': 'application/merge-patch+json' } } : {};

  function refusal({ verb, group = '', resource, subresource, name, namespace }: Case) {
    const qualified = group === '' ? resource : `${resource}.${group}`;
    const subject = name === undefined ? qualified : `${qualified} "${name}"`;
    const what = subresource === undefined ? resource : `${resource}/${subresource}`;
    const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
    return {
      code: 403,
      reason: 'Forbidden',
      message: `${subject} is forbidden: User "rita" cannot ${verb} resource "${what}" in API group "${group}" ${where}`,
      details: { ...(name === undefined ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource },
    };
  }

  describe('P-01, P-02, P-03, P-04, P-30, P-31, P-32: a request is authorized by its attributes', () => {
    it.each(CASES)('$method $path needs $verb', async (asked) => {
      const { method, path, verb, resource, subresource, group = '', name, namespace } = asked;
      const send = () =>
        server.call(method, `${path}`, { ...bodyFor(method), ...headersFor(method), ...asUser('rita') });
      const refused = await send();
      expectStatus(refused, refusal(asked));
      //
      expect(refused.headers.get('x-content-type-options')).toBe('nosniff');
      if (verb === 'watch') return;
      const what = subresource === undefined ? resource : `${resource}/${subresource}`;
      const others = [
        may(verb === 'get' ? 'list' : 'get', what, group),
        may(verb, `${what}x`, group),
        may(verb, what, 'other.example'),
        may(verb, what, group, ['someone-else']),
        ...(subresource === undefined ? [may(verb, `${resource}/token`, group)] : [may(verb, resource, group)]),
      ];
      const notEnough = await grant(server, { to: 'rita', rules: others });
      expectStatus(await send(), refusal(asked));
      await notEnough();
      const rules = [may(verb, what, group, name === undefined ? [] : [name])];
      const enough = await grant(server, { to: 'rita', rules, ...(namespace === undefined ? {} : { namespace }) });
      // A dry run, so that the next case finds the same objects.
      const dry = `${path}${path.includes('?') ? '&' : '?'}dryRun=All`;
      const allowed = await server.call(method, method === 'GET' ? path : dry, {
        ...bodyFor(method),
        ...headersFor(method),
        ...asUser('rita'),
      });
      expect(allowed.code, allowed.text).not.toBe(403);
      await enough();
      expectStatus(await send(), refusal(asked));
    });
  });
});
