import { X509Certificate } from 'node:crypto';
import type { Jwt } from './config-schema.ts';
import type { Problems } from './problems.ts';

/** Whose tokens are meant, and where the keys are. */
export interface IssuerConfig {
  /** Compared with `iss` byte by byte. */
  readonly url: string;
  /** Where the discovery document is. */
  readonly discoveryUrl: string;
  /** PEM. Trusted in place of the system's authorities. */
  readonly certificateAuthority: string | undefined;
  /** One of them must be in `aud`. */
  readonly audiences: readonly string[];
}

export const isIssuerUrl = (url: string | undefined): url is string => url !== undefined && url !== '';

export function readIssuer(issuer: NonNullable<Jwt['issuer']>, problems: Problems): IssuerConfig {
  const { url = '', discoveryURL = '', certificateAuthority = '', egressSelectorType = '' } = issuer;
  if (url === '') problems.add('url', 'required: the issuer, as it is in the tokens');
  else checkUrl(url, 'url', problems);
  if (discoveryURL !== '') {
    checkUrl(discoveryURL, 'discoveryURL', problems);
    if (withoutSlashes(url) === withoutSlashes(discoveryURL)) {
      problems.add('discoveryURL', 'must be different from url: it is the address of the document itself');
    }
  }
  if (certificateAuthority !== '') checkAuthorities(certificateAuthority, problems);
  if (egressSelectorType !== '') problems.add('egressSelectorType', 'there are no egress selectors here: leave it out');
  return {
    url,
    discoveryUrl: discoveryURL === '' ? `${url.replace(/\/$/, '')}/.well-known/openid-configuration` : discoveryURL,
    certificateAuthority: certificateAuthority === '' ? undefined : certificateAuthority,
    audiences: readAudiences(issuer, problems),
  };
}

const withoutSlashes = (url: string): string => url.replace(/\/+$/, '');

function checkUrl(text: string, field: string, problems: Problems): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) problems.add(field, 'must be a URL such as https://id.example.com');
  else if (url.protocol !== 'https:') problems.add(field, 'must be an https URL');
  else if (url.username !== '' || url.password !== '') problems.add(field, 'must not contain a user or a password');
  else if (/[?#]/.test(text)) problems.add(field, 'must not have a query or a fragment');
}

function checkAuthorities(pem: string, problems: Problems): void {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    if (blocks.length === 0) throw new Error('none');
    for (const block of blocks) new X509Certificate(block);
  } catch {
    problems.add('certificateAuthority', 'must be certificates in PEM, the text itself and not the name of a file');
  }
}

function readAudiences(issuer: NonNullable<Jwt['issuer']>, problems: Problems): readonly string[] {
  const { audiences = [], audienceMatchPolicy = '' } = issuer;
  if (audiences.length === 0) problems.add('audiences', 'required: at least one, usually the client id');
  for (const [at, audience] of audiences.entries()) {
    if (audience === '') problems.add(`audiences[${at}]`, 'must not be empty');
    else if (audiences.indexOf(audience) < at) problems.add(`audiences[${at}]`, 'occurs before');
  }
  if (audiences.length > 1 && audienceMatchPolicy !== 'MatchAny') {
    problems.add('audienceMatchPolicy', 'must be MatchAny when there are several audiences');
  } else if (!['', 'MatchAny'].includes(audienceMatchPolicy)) {
    problems.add('audienceMatchPolicy', 'must be MatchAny, or left out');
  }
  return audiences;
}
