import { Type } from 'typebox';
import { bodySchema } from '../../api/codec/shape.ts';
import type { BodyType } from '../../api/kind.ts';
import { flag, text, texts } from '../../api/kinds/meta.ts';

/** AuthenticationConfiguration of kube-apiserver, field by field: an unknown field is refused by name. */

const listOf = (schema: ReturnType<typeof Type.Object>, goType: string) =>
  Type.Optional(Type.Array(schema, { goType: `[]${goType}` }));

const prefixedClaim = () =>
  Type.Optional(
    Type.Object({ claim: text(), prefix: text(), expression: text() }, { goType: 'PrefixedClaimOrExpression' }),
  );

const IssuerSchema = Type.Object(
  {
    url: text(),
    discoveryURL: text(),
    certificateAuthority: text(),
    audiences: texts(),
    audienceMatchPolicy: text(),
    egressSelectorType: text(),
  },
  { goType: 'Issuer' },
);

const ClaimMappingsSchema = Type.Object(
  {
    username: prefixedClaim(),
    groups: prefixedClaim(),
    uid: Type.Optional(Type.Object({ claim: text(), expression: text() }, { goType: 'ClaimOrExpression' })),
    extra: listOf(Type.Object({ key: text(), valueExpression: text() }, { goType: 'ExtraMapping' }), 'ExtraMapping'),
  },
  { goType: 'ClaimMappings' },
);

const JwtAuthenticatorSchema = Type.Object(
  {
    issuer: Type.Optional(IssuerSchema),
    claimValidationRules: listOf(
      Type.Object(
        { claim: text(), requiredValue: text(), expression: text(), message: text() },
        { goType: 'ClaimValidationRule' },
      ),
      'ClaimValidationRule',
    ),
    claimMappings: Type.Optional(ClaimMappingsSchema),
    userValidationRules: listOf(
      Type.Object({ expression: text(), message: text() }, { goType: 'UserValidationRule' }),
      'UserValidationRule',
    ),
  },
  { goType: 'JWTAuthenticator' },
);

const GROUP = 'apiserver.config.k8s.io';

export const AUTHENTICATION_CONFIGURATION: BodyType = {
  group: GROUP,
  version: 'v1',
  kind: 'AuthenticationConfiguration',
  style: 'builtin',
  ...bodySchema(
    Type.Object(
      {
        kind: text(),
        apiVersion: text(),
        jwt: listOf(JwtAuthenticatorSchema, 'JWTAuthenticator'),
        anonymous: Type.Optional(
          Type.Object(
            {
              enabled: flag(),
              conditions: listOf(
                Type.Object({ path: text() }, { goType: 'AnonymousAuthCondition' }),
                'AnonymousAuthCondition',
              ),
            },
            { goType: 'AnonymousAuthConfig' },
          ),
        ),
      },
      { goType: 'AuthenticationConfiguration' },
    ),
  ),
};

/** The two versions have the same fields. */
export const acceptsVersion = (apiVersion: string): boolean => apiVersion === `${GROUP}/v1beta1`;

export interface ClaimOrExpression {
  readonly claim?: string;
  readonly expression?: string;
}

export interface PrefixedClaimOrExpression extends ClaimOrExpression {
  readonly prefix?: string;
}

/** An entry of `jwt`. */
export interface JwtEntry {
  readonly issuer?: {
    readonly url?: string;
    readonly discoveryURL?: string;
    readonly certificateAuthority?: string;
    readonly audiences?: readonly string[];
    readonly audienceMatchPolicy?: string;
    readonly egressSelectorType?: string;
  };
  readonly claimValidationRules?: readonly (ClaimOrExpression & {
    readonly requiredValue?: string;
    readonly message?: string;
  })[];
  readonly claimMappings?: {
    readonly username?: PrefixedClaimOrExpression;
    readonly groups?: PrefixedClaimOrExpression;
    readonly uid?: ClaimOrExpression;
    readonly extra?: readonly { readonly key?: string; readonly valueExpression?: string }[];
  };
  readonly userValidationRules?: readonly { readonly expression?: string; readonly message?: string }[];
}

/** As decoded: every field is optional here, and required fields are checked by `readAuthenticationConfig`. */
export interface AuthenticationConfiguration {
  readonly jwt?: readonly JwtEntry[];
  readonly anonymous?: { readonly enabled?: boolean };
}
