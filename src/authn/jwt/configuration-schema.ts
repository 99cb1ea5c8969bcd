import { type Static, Type } from 'typebox';
import { bodySchema } from '../../api/codec/shape.ts';
import type { BodyType } from '../../api/kind.ts';
import { flag, list, part, struct, text, texts } from '../../api/kinds/meta.ts';

/** AuthenticationConfiguration of kube-apiserver, field by field: an unknown field is refused by name. */

const ClaimSchema = struct('ClaimOrExpression', '', { claim: text(), expression: text() });
const PrefixedClaimSchema = struct('PrefixedClaimOrExpression', '', {
  claim: text(),
  prefix: text(),
  expression: text(),
});

const IssuerSchema = struct('Issuer', '', {
  url: text(),
  discoveryURL: text(),
  certificateAuthority: text(),
  audiences: texts(),
  audienceMatchPolicy: text(),
  egressSelectorType: text(),
});

const ClaimMappingsSchema = struct('ClaimMappings', '', {
  username: Type.Optional(PrefixedClaimSchema),
  groups: Type.Optional(PrefixedClaimSchema),
  uid: Type.Optional(ClaimSchema),
  extra: list(struct('ExtraMapping', '', { key: text(), valueExpression: text() })),
});

const JwtAuthenticatorSchema = struct('JWTAuthenticator', '', {
  issuer: Type.Optional(IssuerSchema),
  claimValidationRules: list(
    struct('ClaimValidationRule', '', { claim: text(), requiredValue: text(), expression: text(), message: text() }),
  ),
  claimMappings: Type.Optional(ClaimMappingsSchema),
  userValidationRules: list(struct('UserValidationRule', '', { expression: text(), message: text() })),
});

const ConfigurationSchema = struct('AuthenticationConfiguration', '', {
  kind: text(),
  apiVersion: text(),
  jwt: list(JwtAuthenticatorSchema),
  anonymous: part('AnonymousAuthConfig', '', {
    enabled: flag(),
    conditions: list(struct('AnonymousAuthCondition', '', { path: text() })),
  }),
});

const GROUP = 'apiserver.config.k8s.io';

export const AUTHENTICATION_CONFIGURATION: BodyType = {
  group: GROUP,
  version: 'v1',
  kind: 'AuthenticationConfiguration',
  style: 'builtin',
  ...bodySchema(ConfigurationSchema),
};

/** The two versions have the same fields. */
export const acceptsVersion = (apiVersion: string): boolean => apiVersion === `${GROUP}/v1beta1`;

export type ClaimOrExpression = Static<typeof ClaimSchema>;
export type PrefixedClaimOrExpression = Static<typeof PrefixedClaimSchema>;

export type JwtEntry = Static<typeof JwtAuthenticatorSchema>;

/** As decoded: every field is optional here, and required fields are checked by `readAuthenticationConfig`. */
export type AuthenticationConfiguration = Static<typeof ConfigurationSchema>;
