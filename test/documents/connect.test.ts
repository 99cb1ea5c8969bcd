import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { mapClaims } from '../../src/authn/jwt/map-claims.ts';
import { type JwtAuthenticatorConfig, readAuthenticationConfig } from '../../src/authn/jwt/read-configuration.ts';
import { commandsIn } from './support/blocks.ts';
import { BLOCKS, fileOf, misuseOf } from './support/connect-pages.ts';

/** The pages of docs/connect/: files are loaded, command lines are compared with the table of commands. */

const load = (text: string): JwtAuthenticatorConfig => {
  const [only, ...others] = readAuthenticationConfig(Buffer.from(text), { isOurs: () => false });
  expect(others).toEqual([]);
  return only as JwtAuthenticatorConfig;
};

describe('code on the pages', () => {
  it('has a language, and is YAML or a script where it says so', () => {
    const wrong: string[] = [];
    for (const { page, language, text } of BLOCKS) {
      const where = `${page}: ${text.split('\n', 1)[0]}`;
      if (language === '') wrong.push(`${where}: no language`);
      if (language === 'yaml') {
        wrong.push(...parseAllDocuments(text).flatMap(({ errors }) => errors.map((error) => `${where}: ${error}`)));
      } else if (language === 'json') JSON.parse(text);
      else if (language === 'sh') {
        const { status, stderr } = spawnSync('sh', ['-n'], { input: text, encoding: 'utf8' });
        if (status !== 0) wrong.push(`${where}: ${stderr}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(BLOCKS.length).toBeGreaterThan(5);
  });

  it('uses commands and flags of clusterpass that exist', () => {
    const wrong: string[] = [];
    let checked = 0;
    for (const { page, text } of BLOCKS) {
      for (const command of commandsIn(text)) {
        // In workflows behind `run:` or a dash, in scripts also inside $(...).
        const found = /(?:^(?:- |run: )?|\$\()clusterpass (?=[a-z])([^)]*)/.exec(command);
        if (found === null) continue;
        checked++;
        const misuse = misuseOf((found[1] ?? '').trim().split(/\s+/));
        if (misuse !== undefined) wrong.push(`${page}: ${command}: ${misuse}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(checked).toBeGreaterThan(15);
  });
});

/** Claims as the provider documents them, and the caller that they give. */
const CALLERS: Readonly<Record<string, { claims: object; name: string; groups: readonly string[]; uid?: string }>> = {
  'keycloak.yaml': {
    claims: { sub: 'f:1', preferred_username: 'jane', email: 'jane@example.com', groups: ['admins'] },
    name: 'keycloak:jane',
    groups: ['keycloak:admins'],
    uid: 'f:1',
  },
  'okta.yaml': {
    claims: { sub: '00u1', email: 'jane@example.com', groups: ['platform-admins'] },
    name: 'okta:jane@example.com',
    groups: ['okta:platform-admins'],
    uid: '00u1',
  },
  'entra.yaml': {
    claims: {
      sub: 'pairwise',
      oid: 'aaaa',
      tid: '11111111-2222-3333-4444-555555555555',
      preferred_username: 'jane@example.com',
      groups: ['0a1b2c3d'],
    },
    name: 'entra:aaaa',
    groups: ['entra:0a1b2c3d'],
    uid: 'aaaa',
  },
  'dex.yaml': {
    claims: { sub: 'CgEx', email: 'jane@example.com', email_verified: true, groups: ['org:team'] },
    name: 'dex:jane@example.com',
    groups: ['dex:org:team'],
    uid: 'CgEx',
  },
  'google.yaml': {
    claims: { sub: '1', email: 'jane@example.com', email_verified: true, hd: 'example.com' },
    name: 'google:jane@example.com',
    groups: [],
    uid: '1',
  },
  'pods.yaml': {
    claims: {
      sub: 'system:serviceaccount:argocd:argocd-server',
      'kubernetes.io': { namespace: 'argocd', serviceaccount: { name: 'argocd-server', uid: 'u1' } },
    },
    name: 'management:system:serviceaccount:argocd:argocd-server',
    groups: [],
    uid: 'u1',
  },
  'github-actions.yaml': {
    claims: {
      sub: 'repo:octo-org@123456/shop@456:ref:refs/heads/main',
      repository: 'octo-org/shop',
      repository_id: '456',
      repository_owner_id: '123456',
      ref: 'refs/heads/main',
      event_name: 'push',
      run_id: '7',
      workflow_ref: 'octo-org/shop/.github/workflows/deploy.yaml@refs/heads/main',
    },
    name: 'github:octo-org/shop:refs/heads/main',
    groups: ['github:octo-org/shop'],
    uid: '456',
  },
  'gitlab.yaml': {
    claims: {
      sub: 'project_path:acme/shop:ref_type:tag:ref:v1',
      project_path: 'acme/shop',
      project_id: '22',
      namespace_id: '73',
      ref: 'v1',
      ref_type: 'tag',
      ref_protected: 'true',
      pipeline_id: '1212',
      user_login: 'jane',
    },
    name: 'gitlab:acme/shop:tag:v1',
    groups: ['gitlab:acme/shop'],
    uid: '22',
  },
};

const configurations = BLOCKS.filter(({ text }) => text.includes('\nkind: AuthenticationConfiguration\n'));

describe('authentication configurations', () => {
  it('are all loaded below', () => {
    expect(configurations.map(({ file }) => file).toSorted()).toEqual(Object.keys(CALLERS).toSorted());
  });

  it.each(Object.entries(CALLERS))('%s gives a caller its name and groups', (file, { claims, name, groups, uid }) => {
    const user = mapClaims(load(fileOf(file)).mappings, { ...claims });
    expect(user).toMatchObject({ name, groups: [...groups, 'system:authenticated'], ...(uid && { uid }) });
  });

  it.each([
    ['google.yaml', 'an account of another organization', { hd: 'other.example' }, 'claim hd'],
    ['google.yaml', 'an account of none', { hd: undefined }, 'claim hd'],
    ['google.yaml', 'an address that is not verified', { email_verified: false }, 'email is not verified'],
    ['dex.yaml', 'an address that is not verified', { email_verified: false }, 'email is not verified'],
    ['entra.yaml', 'another tenant', { tid: '99999999-2222-3333-4444-555555555555' }, 'claim tid'],
    [
      'entra.yaml',
      'more groups than a token holds',
      { groups: undefined, _claim_names: { groups: 'src1' } },
      'distributed',
    ],
  ])('%s refuses %s', (file, _, change, reason) => {
    const claims = Object.entries({ ...CALLERS[file]?.claims, ...change }).filter(([, value]) => value !== undefined);
    expect(() => mapClaims(load(fileOf(file)).mappings, Object.fromEntries(claims))).toThrow(reason);
  });
});
