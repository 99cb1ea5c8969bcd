import { describe, expect, it, onTestFinished } from 'vitest';
import { json, scriptServer } from '../../client/script-server.fixture.ts';
import { fakeContext } from '../cli.fixture.ts';
import { Invocation } from '../command.ts';
import type { Connection } from '../connection/connection.ts';
import type { Logins } from '../connection/logins.ts';
import { settingsFromServer } from './server-provider.ts';

const ISSUER = 'https://127.0.0.1:4433';
const HERE = 'https://pass.example.com';

/** The login at another server, and its provider. */
const loginAt = (issuerUrl: string): Logins =>
  ({ logins: { [HERE]: { session: { issuerUrl, clientId: 'cli' } } } }) as unknown as Logins;

/** What a login does with the settings of a console. */
async function asked(named: unknown, { logins = { logins: {} } as Logins, flags = {} } = {}) {
  const server = await scriptServer([json(200, { productName: 'orchestrator', provider: named })]);
  onTestFinished(server.close);
  const context = fakeContext({});
  const connection = { server: server.url, insecureSkipTlsVerify: false } as Connection;
  const settings = () => settingsFromServer(context, new Invocation([], flags), connection, logins);
  return { context, settings, server };
}

describe('A46: a provider that a login at another server has is not used', () => {
  it.each([
    ['as the login has it', ISSUER],
    ['with a slash', `${ISSUER}/`],
    ['with a dot segment', `${ISSUER}/./`],
    ['with a scheme in capitals', ISSUER.replace('https', 'HTTPS')],
    ['with another spelling of the host', ISSUER.replace('127.0.0.1', '127.1')],
  ])('%s', async (_, issuer) => {
    for (const login of [ISSUER, `${ISSUER}/.well-known/openid-configuration`]) {
      const { settings, server } = await asked({ issuer, clientId: 'console' }, { logins: loginAt(login) });
      await expect(settings()).rejects.toThrow(
        `${server.url} names the identity provider ${ISSUER}/ and the client ID console. Your login at ${HERE} uses ` +
          'this provider, and a token for one server may be valid at the other. If both are yours, set --issuer-url ' +
          'and --client-id',
      );
      expect(server.requests.map(({ path, authorization }) => [path, authorization])).toEqual([
        ['/console/settings.json', undefined],
      ]);
    }
  });
});

it.each<[string, unknown]>([
  ['no provider', undefined],
  ['another type', { issuer: 5, clientId: 'x' }],
])('a server that names %s has none', async (_, named) => {
  expect(await (await asked(named)).settings()).toBeUndefined();
});

it.each([
  ['http://id.example.com', '"http://id.example.com/", which is not an https URL'],
  ['\u001b[2J', '"?[2J", which is not an https URL'],
  // A letter that looks like another.
  ['http://\u0456d.example.com', '"http://xn--d-evb.example.com/", which is not an https URL'],
  ['https://id.example.com@id.invalid', '"https://id.example.com@id.invalid/", which contains credentials'],
  // Discovery does not check the issuer of metadata.
  ['https://id.example.com/.well-known/openid-configuration', 'which is not an issuer URL'],
])('a server that names %j is an error', async (issuer, problem) => {
  const { settings } = await asked({ issuer, clientId: 'x' });
  await expect(settings()).rejects.toThrow(problem);
});
