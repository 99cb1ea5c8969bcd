/**
 * Payloads of ID tokens as their issuers document them, without the times. The values are examples.
 *
 * - GitHub: docs.github.com, "OpenID Connect reference". `sub` in the form of repositories that were created after July
 *   15, 2026. Every id is a string.
 * - GitLab: docs.gitlab.com, "OpenID Connect (OIDC) authentication using ID tokens". Booleans are strings, and
 *   `runner_id` is a number.
 * - kubelet: a projected service account token of Kubernetes 1.32 or newer.
 * - SPIRE: a JWT-SVID has `sub`, `aud`, `exp`, `iat`, and `iss` if `jwt_issuer` is set.
 */

export const AUDIENCE = 'https://clusterpass.example.com';

export const GITHUB = {
  jti: 'a1b2c3d4-0000-4000-8000-000000000001',
  sub: 'repo:octo-org@123456/shop@456:environment:production',
  aud: AUDIENCE,
  ref: 'refs/heads/main',
  sha: '0123456789abcdef0123456789abcdef01234567',
  repository: 'octo-org/shop',
  repository_owner: 'octo-org',
  repository_owner_id: '123456',
  run_id: '7',
  run_number: '10',
  run_attempt: '2',
  repository_visibility: 'private',
  repository_id: '456',
  actor_id: '12',
  actor: 'octocat',
  workflow: 'deploy',
  head_ref: '',
  base_ref: '',
  event_name: 'push',
  ref_protected: 'true',
  ref_type: 'branch',
  workflow_ref: 'octo-org/shop/.github/workflows/deploy.yaml@refs/heads/main',
  workflow_sha: '0123456789abcdef0123456789abcdef01234567',
  job_workflow_ref: 'octo-org/shop/.github/workflows/deploy.yaml@refs/heads/main',
  job_workflow_sha: '0123456789abcdef0123456789abcdef01234567',
  runner_environment: 'github-hosted',
  environment: 'production',
};

export const GITLAB = {
  namespace_id: '72',
  namespace_path: 'acme',
  project_id: '22',
  project_path: 'acme/shop',
  user_id: '1',
  user_login: 'jane',
  user_email: 'jane@example.com',
  user_access_level: 'developer',
  user_identities: [{ provider: 'github', extern_uid: '2435223452345' }],
  pipeline_id: '1212',
  pipeline_source: 'push',
  job_id: '1240',
  ref: 'main',
  ref_type: 'branch',
  ref_path: 'refs/heads/main',
  ref_protected: 'true',
  environment: 'production',
  environment_protected: 'true',
  deployment_tier: 'production',
  environment_action: 'start',
  runner_id: 1,
  runner_environment: 'self-hosted',
  sha: '0123456789abcdef0123456789abcdef01234567',
  project_visibility: 'private',
  ci_config_ref_uri: 'gitlab.com/acme/shop//.gitlab-ci.yml@refs/heads/main',
  ci_config_sha: '0123456789abcdef0123456789abcdef01234567',
  jti: 'a1b2c3d4-0000-4000-8000-000000000002',
  sub: 'project_path:acme/shop:ref_type:branch:ref:main',
  aud: AUDIENCE,
};

export const KUBERNETES = {
  aud: [AUDIENCE],
  jti: 'a1b2c3d4-0000-4000-8000-000000000003',
  'kubernetes.io': {
    namespace: 'ci',
    node: { name: 'node-1', uid: '1f2e3d4c-5b6a-4978-8695-a4b3c2d1e0f9' },
    pod: { name: 'deploy-x7k2p', uid: '2a3b4c5d-6e7f-4081-92a3-b4c5d6e7f809' },
    serviceaccount: { name: 'deployer', uid: '8b1c9d0e-1f2a-4b3c-8d4e-5f6a7b8c9d0e' },
  },
  sub: 'system:serviceaccount:ci:deployer',
};

export const SPIFFE = { aud: [AUDIENCE], sub: 'spiffe://example.org/ns/ci/sa/deployer' };
