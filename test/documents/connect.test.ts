import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { mapClaims } from '../../src/authn/jwt/map-claims.ts';
import { type JwtAuthenticatorConfig, readAuthenticationConfig } from '../../src/authn/jwt/read-configuration.ts';
import { commandsIn, ROOT } from './support/blocks.ts';
import { GITHUB, GITLAB, KUBERNETES, SPIFFE } from './support/ci-claims.ts';
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

  it('of files below deploy/ is what the files have', () => {
    const shown = BLOCKS.filter(({ file }) => file?.startsWith('deploy/') === true);
    expect(shown.length).toBeGreaterThan(0);
    for (const { file = '', text } of shown) expect(fileOf(file), file).toBe(text);
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
  'deploy/ci/github/authentication.yaml': {
    claims: GITHUB,
    name: 'github:456:environment:production',
    groups: [
      'github:456',
      'github:456:ref:refs/heads/main',
      'github:workflow:octo-org/shop/.github/workflows/deploy.yaml@refs/heads/main',
      'github:456:environment:production',
    ],
    uid: '456',
  },
  'deploy/ci/gitlab/authentication.yaml': {
    claims: GITLAB,
    name: 'gitlab:22:branch:main',
    groups: ['gitlab:22', 'gitlab:22:branch:main', 'gitlab:22:environment:production'],
    uid: '22',
  },
  'deploy/ci/kubernetes/authentication.yaml': {
    claims: KUBERNETES,
    name: 'kubernetes:management:system:serviceaccount:ci:deployer',
    groups: ['kubernetes:management:ci', 'kubernetes:management:ci:deployer'],
    uid: '8b1c9d0e-1f2a-4b3c-8d4e-5f6a7b8c9d0e',
  },
  'deploy/ci/spiffe/authentication.yaml': {
    claims: SPIFFE,
    name: 'spiffe://example.org/ns/ci/sa/deployer',
    groups: ['spiffe://example.org', 'spiffe://example.org/ns/ci/sa/deployer'],
  },
};

const configurations = BLOCKS.filter(({ text }) => text.includes('\nkind: AuthenticationConfiguration\n'));

describe('authentication configurations', () => {
  it('are all loaded below', () => {
    const onPages = configurations.flatMap(({ file }) => file ?? []).filter((file) => !file.startsWith('deploy/'));
    const files = globSync('deploy/ci/*/authentication.yaml', { cwd: ROOT });
    expect([...onPages, ...files].toSorted()).toEqual(Object.keys(CALLERS).toSorted());
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
    ['deploy/ci/github/authentication.yaml', 'another owner', { repository_owner_id: '9' }, 'repository_owner_id'],
    ['deploy/ci/github/authentication.yaml', 'a pull request', { event_name: 'pull_request' }, 'of pull requests'],
    [
      'deploy/ci/github/authentication.yaml',
      'a pull request with the rights of its target',
      { event_name: 'pull_request_target' },
      'of pull requests',
    ],
    ['deploy/ci/gitlab/authentication.yaml', 'another group', { namespace_id: '1' }, 'is not one of ours'],
    ['deploy/ci/gitlab/authentication.yaml', 'an open branch', { ref_protected: 'false' }, 'claim ref_protected'],
    [
      'deploy/ci/kubernetes/authentication.yaml',
      'a token that is bound to no pod',
      { 'kubernetes.io': { ...KUBERNETES['kubernetes.io'], pod: undefined } },
      'must be bound to a pod',
    ],
    [
      'deploy/ci/spiffe/authentication.yaml',
      'another trust domain',
      { sub: 'spiffe://example.org.evil.example/ns/ci/sa/deployer' },
      'another trust domain',
    ],
    ['entra.yaml', 'another tenant', { tid: '99999999-2222-3333-4444-555555555555' }, 'claim tid'],
    [
      'entra.yaml',
      'more groups than a token holds',
      { groups: undefined, _claim_names: { groups: 'src1' } },
      'distributed',
    ],
  ])('%s refuses %s', (file, _, change, reason) => {
    // Without the members that are undefined.
    const claims = JSON.parse(JSON.stringify({ ...CALLERS[file]?.claims, ...change }));
    expect(() => mapClaims(load(fileOf(file)).mappings, claims)).toThrow(reason);
  });
});
