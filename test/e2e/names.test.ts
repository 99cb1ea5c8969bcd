import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { createHomes, KINDS, type KindCase, kindCase, kindDetails, objectOf, qualifiedKind } from './support/kinds.ts';
import { type Server, startServer } from './support/server.ts';
import { ASK, create, tokenPath } from './support/token-world.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createHomes(server);
});
afterAll(() => server.destroy());

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const SUBDOMAIN_KINDS = ['Cluster', 'ServiceAccount', 'Pod', 'Secret'];
const RBAC_KINDS = ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];

async function expectRefused(of: KindCase, name: string, problems: readonly string[]): Promise<void> {
  const causes = problems.map((problem) => ({
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${JSON.stringify(name)}: ${problem}`,
    field: 'metadata.name',
  }));
  const [first] = causes;
  const texts = causes.map(({ message, field }) => `${field}: ${message}`);
  expectStatus(await server.call('POST', of.path, { body: objectOf(of, { name }) }), {
    code: 422,
    reason: 'Invalid',
    message: `${qualifiedKind(of)} ${JSON.stringify(name)} is invalid: ${texts.length === 1 ? `${first?.field}: ${first?.message}` : `[${texts.join(', ')}]`}`,
    details: kindDetails(of, name, causes),
  });
}

describe('M-01, M-03, M-04: names that are subdomains', () => {
  describe.each(SUBDOMAIN_KINDS)('%s', (kind) => {
    it.each(['Foo', 'a_b', '-a', 'a-', '.a', 'a.', 'a..b', 'a b', 'ü', 'a/b', 'a%b', '..', 'ſ', 'K'])(
      '%j is refused',
      (name) => expectRefused(kindCase(kind), name, [SUBDOMAIN]),
    );

    it('holds no control characters', async () => {
      const of = kindCase(kind);
      for (const name of ['a\u0000', 'a\n', '\u001b[31m']) {
        expect((await server.call('POST', of.path, { body: objectOf(of, { name }) })).code).toBe(422);
      }
    });

    it('has at most 253 bytes, and no limit on its parts', async () => {
      const of = kindCase(kind);
      await expectRefused(of, 'a'.repeat(254), ['must be no more than 253 bytes']);
      await expectRefused(of, 'ü'.repeat(127), ['must be no more than 253 bytes', SUBDOMAIN]);
      for (const name of ['a'.repeat(253), 'a', '0', 'a.b-c.d', `${'a'.repeat(64)}.b`]) {
        const made = await create(server, `${of.path}?dryRun=All`, objectOf(of, { name }));
        expect(made.metadata.name).toBe(name);
      }
    });
  });
});

describe('M-02: names that are labels', () => {
  const of = kindCase('Namespace');

  it.each(['Foo', 'a_b', '-a', 'a-', '.', '..', 'ü', 'a/b'])('%j is refused', (name) =>
    expectRefused(of, name, [LABEL]),
  );

  it('has no dots and at most 63 bytes', async () => {
    await expectRefused(of, 'a.b', ['must not contain dots']);
    await expectRefused(of, 'a'.repeat(64), ['must be no more than 63 bytes']);
    await create(server, `${of.path}?dryRun=All`, objectOf(of, { name: 'a'.repeat(63) }));
  });
});

describe('names of rules are any one segment of a path', () => {
  it.each(RBAC_KINDS)('%s', async (kind) => {
    const of = kindCase(kind);
    await expectRefused(of, '.', ["may not be '.'"]);
    await expectRefused(of, '..', ["may not be '..'"]);
    await expectRefused(of, 'a/b%c', ["may not contain '/'", "may not contain '%'"]);
    expect((await server.call('POST', of.path, { body: objectOf(of, { name: 'a\nb' }) })).code).toBe(422);
    const name = 'system:Node_Admin @x';
    const made = await create(server, of.path, objectOf(of, { name }));
    const read = await server.call('GET', `${of.path}/${encodeURIComponent(name)}`);
    expect(read.json).toEqual(made);
  });
});

describe('M-05: a name', () => {
  it.each(KINDS)('of a $kind is required', async (of) => {
    const message = 'Required value: name or generateName is required';
    expectStatus(await server.call('POST', of.path, { body: objectOf(of, {}) }), {
      code: 422,
      reason: 'Invalid',
      message: `${qualifiedKind(of)} "" is invalid: metadata.name: ${message}`,
      details: {
        ...(of.group === '' ? {} : { group: of.group }),
        kind: of.kind,
        causes: [{ reason: 'FieldValueRequired', message, field: 'metadata.name' }],
      },
    });
  });

  it('that is generated is checked whole', async () => {
    const of = kindCase('ServiceAccount');
    const answer = await server.call('POST', of.path, { body: objectOf(of, { generateName: 'Upper-' }) });
    expect(answer.code).toBe(422);
    expect(answer.json.details.name).toMatch(/^Upper-.{5}$/);
  });

  it('M-01: in a path is only looked up', async () => {
    const answer = await server.call('POST', tokenPath('Not_A_Name'), { body: ASK });
    expectStatus(answer, {
      code: 404,
      reason: 'NotFound',
      message: 'serviceaccounts "Not_A_Name" not found',
      details: { name: 'Not_A_Name', kind: 'serviceaccounts' },
    });
  });

  it('labels, annotations and finalizers have rules of their own', async () => {
    const of = kindCase('Cluster');
    const metadata = {
      name: 'labelled',
      labels: { 'a b': 'x', ok: '-' },
      annotations: { '/x': 'y' },
      finalizers: ['a b'],
    };
    const { code, json } = await server.call('POST', of.path, { body: objectOf(of, metadata) });
    expect(code).toBe(422);
    expect(json.details.causes.map(({ field }: { field: string }) => field)).toEqual([
      'metadata.labels',
      'metadata.labels',
      'metadata.annotations',
      'metadata.finalizers[0]',
    ]);
    const large = objectOf(of, { name: 'large', annotations: { a: 'x'.repeat(256 * 1024) } });
    const answer = await server.call('POST', of.path, { body: large });
    expect(answer.json.details.causes).toEqual([
      {
        reason: 'FieldValueTooLong',
        message: 'Too long: may not be more than 262144 bytes',
        field: 'metadata.annotations',
      },
    ]);
  });
});
