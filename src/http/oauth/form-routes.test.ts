import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/status.ts';
import { createIssuers } from '../../tokens/claims.ts';
import { OAUTH_PATHS, TOKEN_EXCHANGE_GRANT } from '../../tokens/issuer-documents.ts';
import type { RawAnswer } from '../response/respond.ts';
import { Form } from './form.ts';
import { formRoutes } from './form-routes.ts';
import { ID_TOKEN, JWT, translatePerson } from './token-exchange.ts';

/** Forms as requests of the API, and answers of the API as answers of OAuth. */

const issuers = createIssuers({ baseUrl: 'https://clusterpass.example.com', productName: 'orchestrator' });
const routes = formRoutes(() => issuers);

const token = (claims: object): string =>
  ['{}', JSON.stringify(claims), 'x'].map((text) => Buffer.from(text).toString('base64url')).join('.');

type Parameters = Readonly<Record<string, string | undefined>>;

const formOf = (parameters: Parameters): Form =>
  new Form(
    Buffer.from(
      new URLSearchParams(Object.entries(parameters).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]]))).toString(),
    ),
  );

const find = (path: string, cluster?: string) => routes({ type: 'path', verb: 'post', cluster, path });

function routeAt(path: string, cluster?: string) {
  const route = find(path, cluster);
  if (route === undefined) throw new Error(`there is no ${path}`);
  return route;
}

const url = (search = '', cluster?: string) => ({ cluster, query: new URLSearchParams(search) });
const jsonIn = (answer: unknown) => {
  const { code, headers, body } = answer as RawAnswer;
  return { code, headers, json: body === '' ? undefined : JSON.parse(String(body)) };
};
const failed = (code: number, message = 'no', retryAfterSeconds = 0) => {
  const error = new ApiError(code, 'Reason', message, { details: { retryAfterSeconds } });
  return { type: 'status', error } as const;
};
const value = (content: object) => ({ type: 'value', code: 201, value: content }) as const;

describe('the routes', () => {
  it('are below the base URL and below each cluster, revocation below the base URL only', () => {
    for (const path of [OAUTH_PATHS.token, OAUTH_PATHS.introspection]) {
      expect([find(path), find(path, 'alpha')]).not.toContain(undefined);
      expect(find(path, 'not_a_name')).toBeUndefined();
    }
    expect(find(OAUTH_PATHS.revocation)).toBeDefined();
    expect(find(OAUTH_PATHS.revocation, 'alpha')).toBeUndefined();
  });

  it('of callers need a header before the form is read', () => {
    for (const path of [OAUTH_PATHS.introspection, OAUTH_PATHS.revocation]) {
      const { checkAuthorization } = routeAt(path);
      expect(() => checkAuthorization(undefined)).toThrow('send your own token as Authorization: Bearer');
      expect(() => checkAuthorization('Bearer x')).not.toThrow();
    }
  });
});

describe('RFC 6749: a form', () => {
  it('has each parameter once, except for targets', () => {
    const parse = (text: string) => new Form(Buffer.from(text));
    for (const name of ['subject_token', 'actor_token', 'scope', 'token', 'grant_type']) {
      expect(() => parse(`${name}=a&${name}=b`)).toThrow(`the parameter ${name} must be sent once`);
    }
    expect(parse('audience=a&audience=b').getAll('audience')).toEqual(['a', 'b']);
  });

  it('is decoded once, and refused where that would lose something', () => {
    const parse = (text: string | Uint8Array) => new Form(Buffer.from(text));
    expect(parse('scope=a+b%2Bc%26d&x&y=').get('scope')).toBe('a b+c&d');
    for (const text of ['a=%zz', 'a=%', 'a=%ff', '%c3=1']) expect(() => parse(text)).toThrow('percent-escape');
    expect(() => parse(Buffer.from([0x61, 0x3d, 0xff]))).toThrow('UTF-8');
    expect(() => parse('a=1&'.repeat(64))).toThrow('more than 64 parameters');
  });

  it.each([
    [429, 429, 'temporarily_unavailable'],
    [503, 503, 'temporarily_unavailable'],
    [504, 504, 'temporarily_unavailable'],
    [500, 500, 'server_error'],
    [413, 413, 'invalid_request'],
    [415, 400, 'invalid_request'],
  ])('whose request is answered with %i is %i %s', (code, sent, error) => {
    const answer = jsonIn(routeAt(OAUTH_PATHS.token).render(failed(code, 'busy', 7)));
    expect([answer.code, answer.json.error, answer.headers['Retry-After']]).toEqual([sent, error, '7']);
    expect(jsonIn(routeAt(OAUTH_PATHS.token).render(failed(code))).headers).not.toHaveProperty('Retry-After');
  });

  it('has an error of printable ASCII, without what looks like a token', () => {
    const secret = token({ sub: 'jane', iss: 'https://id.example.com', exp: 1 });
    const { json } = jsonIn(routeAt(OAUTH_PATHS.token).render(failed(400, `"${secret}" \\ ü\n is wrong`)));
    expect(json.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+ is wrong$/);
    expect(json.error_description).not.toContain(secret.slice(0, 20));
  });
});

describe('RFC 8693: a token exchange', () => {
  const good: Parameters = {
    grant_type: TOKEN_EXCHANGE_GRANT,
    subject_token: token({ sub: 'jane', iss: 'https://id.example.com' }),
    subject_token_type: ID_TOKEN,
    audience: 'alpha',
    scope: 'serviceaccount:ci:builder',
  };
  const read = (changes: Parameters = {}, search = '') =>
    routeAt(OAUTH_PATHS.token).read(formOf({ ...good, ...changes }), url(search));
  const HANDLE = { scope: `pass:pass_${'a'.repeat(32)}`, audience: undefined };

  it('is a TokenRequest, whose caller is the subject', () => {
    const request = read({ expiration_seconds: '600', tracked: 'true' }, 'dryRun=All&x=y');
    expect(request.info).toMatchObject({ question: { cluster: 'alpha', namespace: 'ci', name: 'builder' } });
    expect(request.credential?.reveal()).toBe(good.subject_token);
    expect(String(request.query)).toBe('dryRun=All');
    expect(request.body?.value).toMatchObject({ spec: { expirationSeconds: 600 } });
  });

  it.each<[string, Parameters, string]>([
    ['an actor token without a type', { actor_token: 'a.b.c' }, 'actor_token_type is required'],
    ['an actor token of another type', { actor_token: 'a.b.c', actor_token_type: 'saml' }, 'actor_token_type must be'],
    ['a negative lifetime', { expiration_seconds: '-600' }, 'expiration_seconds must be a whole number'],
    [
      'an ID token for a person',
      { requested_token_type: ID_TOKEN, scope: 'userpass aud:vault' },
      'a token for the API of the cluster is an access_token',
    ],
    ['an account and a person', { scope: 'serviceaccount:ci:builder userpass' }, 'not both'],
    ['an account with a third part', { scope: 'serviceaccount:ci:builder:x' }, 'scope may have'],
    ['an account in a namespace that is none', { scope: 'serviceaccount:c.i:builder' }, 'scope may have'],
    ['two accounts', { scope: 'serviceaccount:ci:builder serviceaccount:ci:other' }, 'one service account'],
    ['another account in the audience', { audience: 'alpha:ci:other' }, 'one service account'],
    ['a quote in an audience', { scope: 'serviceaccount:ci:builder aud:"x' }, 'scope may have'],
    ['an empty audience', { scope: 'serviceaccount:ci:builder aud:' }, 'scope may have'],
    ['a cluster whose name is none', { audience: '../alpha' }, 'audience must be CLUSTER'],
  ])('is refused with %s', (_, changes, text) => {
    expect(() => read(changes)).toThrow(text);
  });

  it.each<[string, unknown, object, boolean]>([
    ['its issuer by default', { sub: 'bot' }, { sub: 'bot', iss: 'https://id.example.com' }, true],
    ['its issuer by default, not another', { sub: 'bot' }, { sub: 'bot', iss: 'https://other.example' }, false],
    ['the issuer that it names', { sub: 'bot', iss: 'https://o' }, { sub: 'bot', iss: 'https://o' }, true],
    ['another subject', { sub: 'bot' }, { sub: 'eve', iss: 'https://id.example.com' }, false],
    ['no actor, as one without a subject', {}, { iss: 'https://id.example.com' }, false],
    ['no text', { sub: 1 }, { sub: 1, iss: 'https://id.example.com' }, false],
    ['no object', 'bot', { sub: 'bot', iss: 'https://id.example.com' }, false],
  ])('TX-60: may_act of the subject token means %s', (_, mayAct, actor, isAllowed) => {
    const changes = {
      subject_token: token({ sub: 'jane', iss: 'https://id.example.com', may_act: mayAct }),
      actor_token: token(actor),
      actor_token_type: JWT,
    };
    if (isAllowed) expect(read(changes).actorCredential?.reveal()).toBe(changes.actor_token);
    else expect(() => read(changes)).toThrow('names another actor');
  });

  it('names its client in the audit event, but no token', () => {
    const idOf = (id: string) => read({ client_id: id }).annotations.get('clusterpass.dev/unverified-client-id');
    expect(idOf('agent')).toBe('agent');
    expect(idOf('a '.repeat(200))).toHaveLength(128);
    const secret = token({ sub: 'jane', iss: 'https://id.example.com', exp: 1 });
    expect(idOf(secret)).not.toContain(secret.slice(0, 20));
  });

  it('RFC 6749 section 5.2: repeats the scheme of a client only if it is one', () => {
    const { checkAuthorization } = routeAt(OAUTH_PATHS.token);
    const challengeOf = (header: string): unknown => {
      try {
        checkAuthorization(header);
      } catch (error) {
        return (error as { challenge?: string }).challenge;
      }
      return 'accepted';
    };
    expect(['Basic eDp5', 'DPoP x', '"x,\ty', 'x'.repeat(33)].map(challengeOf)).toEqual([
      'Basic',
      'DPoP',
      'Basic',
      'Basic',
    ]);
  });

  it('redeems a handle, also as a dry run', () => {
    const request = read({ ...HANDLE, code_verifier: 'v' }, 'dryRun=All');
    expect(request.info.question).toMatchObject({ resource: 'passes', subresource: 'token', verb: 'create' });
    expect(String(request.query)).toBe('dryRun=All');
    expect(JSON.stringify(request.body?.value)).toContain('"v"');
  });

  it.each<[string, Parameters, string]>([
    ['a cluster', { audience: 'alpha' }, 'leave out audience'],
    ['a resource', { resource: 'https://x' }, 'leave out resource'],
    ['a lifetime', { expiration_seconds: '600' }, 'leave out expiration_seconds'],
    ['a record', { tracked: 'true' }, 'leave out tracked'],
    ['an ID token', { requested_token_type: ID_TOKEN }, 'requested_token_type must be'],
    ['another scope', { scope: `${HANDLE.scope} userpass` }, 'and nothing else'],
    ['a path', { scope: 'pass:../x' }, 'and nothing else'],
  ])('redeems no handle with %s', (_, changes, text) => {
    expect(() => read({ ...HANDLE, ...changes })).toThrow(text);
  });

  it('TX-32: does not tell what exists', () => {
    const of = (changes: Parameters, code: number) => {
      const { json } = jsonIn(read(changes).render(failed(code, `the secret message of ${code}`)));
      return json;
    };
    for (const changes of [{}, { scope: 'userpass' }]) expect(of(changes, 403)).toEqual(of(changes, 404));
    expect(of({}, 401).error).toBe('invalid_request');
    expect(JSON.stringify([of({}, 401), of({}, 403), of(HANDLE, 404)])).not.toContain('secret message');
    expect([of(HANDLE, 404).error, of(HANDLE, 403).error, of(HANDLE, 409).error]).toEqual([
      'invalid_scope',
      'invalid_scope',
      'invalid_scope',
    ]);
  });
});

it('TX-71: too many groups of the subject are not blamed on the scope', () => {
  const causes = [
    { reason: 'FieldValueTooMany', message: 'Too many: 101: must have at most 100 items', field: 'groups' },
  ];
  const error = new ApiError(422, 'Invalid', 'groups', { details: { causes } });
  expect(translatePerson(error)).toMatchObject({
    error: 'invalid_scope',
    message: 'the groups of the subject: Too many: 101: must have at most 100 items',
  });
});

describe('RFC 7662: introspection', () => {
  const read = (claims: object, cluster?: string) =>
    routeAt(OAUTH_PATHS.introspection, cluster).read(formOf({ token: token(claims) }), url('', cluster));
  const active = value({ status: { authenticated: true, user: { username: 'jane' } } });

  it('reviews a pass for all its audiences, one for a person too, and a foreign token for none', () => {
    const reviewOf = (iss: string) => read({ iss, aud: ['vault', 'b'] }).body?.value;
    expect(reviewOf(issuers.issuerFor('alpha'))).toMatchObject({ spec: { audiences: ['vault', 'b'] } });
    expect(reviewOf(issuers.peopleIssuerFor('alpha'))).toMatchObject({ spec: { audiences: ['vault', 'b'] } });
    expect(reviewOf('https://id.example.com')).toMatchObject({ spec: { audiences: [] } });
    expect(read({}, 'alpha').info.question).toMatchObject({ cluster: 'alpha', resource: 'tokenreviews' });
  });

  it('says what the token says once the review holds, and nothing before', () => {
    const claims = { iss: 'https://i', sub: 's', aud: 'a', exp: 2, iat: 'no', act: { sub: 'bot' }, private: 'x' };
    expect(jsonIn(read(claims).render(active)).json).toEqual({
      ...{ active: true, iss: 'https://i', sub: 's', aud: ['a'], exp: 2, act: { sub: 'bot' } },
      ...{ token_type: 'Bearer', username: 'jane' },
    });
    for (const answer of [value({ status: {} }), value({}), failed(404), failed(422)]) {
      const { code, json } = jsonIn(read(claims).render(answer));
      expect([code, json]).toEqual([200, { active: false }]);
    }
  });

  it('is refused with the codes of RFC 6750', () => {
    const render = (code: number) => jsonIn(read({}).render(failed(code)));
    expect([render(401).code, render(401).json.error, render(401).headers['WWW-Authenticate']]).toEqual([
      401,
      'invalid_token',
      'Bearer',
    ]);
    expect([render(403).code, render(403).json.error]).toEqual([403, 'insufficient_scope']);
  });
});

describe('RFC 7009: revocation', () => {
  const ID = '8d1f4c1e-2f43-4a53-9d0a-6a1f0c6c2b11';
  const read = (claims: object, search = '') =>
    routeAt(OAUTH_PATHS.revocation).read(formOf({ token: token(claims) }), url(search));

  it('deletes the record of a pass, one for a person too, and nothing of a foreign token', () => {
    for (const iss of [issuers.issuerFor('alpha'), issuers.peopleIssuerFor('alpha')]) {
      const { info, query } = read({ iss, jti: ID }, 'dryRun=All');
      expect(info.question).toMatchObject({ verb: 'delete', resource: 'issuedtokens', name: ID });
      expect(String(query)).toBe('dryRun=All');
      for (const jti of [undefined, '', 'id-1', 7]) {
        expect(() => read({ iss, jti })).toThrow('only passes that were issued here');
      }
    }
    expect(() => read({ iss: 'https://id.example.com', jti: ID })).toThrow('only passes that were issued here');
  });
});
