import { flag, option } from './option.ts';
import {
  algorithmsByAudience,
  duration,
  existing,
  externalSigner,
  integer,
  oneOf,
  signingAlgorithm,
} from './values.ts';

/** Options of tokens, of access requests and of signing keys. */
export const TOKEN_OPTIONS = {
  serviceAccountMaxTokenExpiration: option(
    {
      // T-27: kube-apiserver accepts the same range, 1h to 2^32 seconds.
      parse: duration('1h', '4294967296s'),
      default: '24h',
    },
    'The longest lifetime of a token; a request for more is shortened, with a warning.',
  ),
  maxTokensPerMinutePerCaller: option(
    { parse: integer(0, 10_000_000), default: '30000' },
    'Tokens that one caller, or the service accounts of one cluster, may request a minute from one process; more are 429. `0` means no limit.',
  ),
  maxTrackedTokensPerCaller: option(
    { parse: integer(1, 100_000), default: '1000' },
    'How many unexpired tracked passes (`clusterpass.dev/tracked`) one caller may have, revoked ones and those requested through service accounts included; more are 429.',
  ),
  maxRevocationsPerCaller: option(
    { parse: integer(1, 1_000_000), default: '10000' },
    'How many unexpired tokens without a record one caller may have revoked, by id; more are 429. `system:masters` have no limit.',
  ),
  maxBootstrapTokensPerCaller: option(
    { parse: integer(1, 100_000), default: '10000' },
    'How many unexpired bootstrap tokens one caller may have; more are 429.',
  ),
  trackAllTokens: flag(
    'Keeps a record of every token that the server signs, not only of those whose request asks for it (`clusterpass.dev/tracked`), so that `clusterpass token list` shows all. Each token is then a write to the store, and counts for `--max-tracked-tokens-per-caller`.',
  ),
  actorClaim: option(
    { value: 'WHEN', parse: oneOf('fleet', 'always', 'never'), default: 'fleet' },
    'Which tokens name their requester in the claim `act`: `fleet` those whose audiences are all clusters of this fleet, `always` every token, `never` none. A user name is personal data; services outside of the fleet would see it.',
  ),
  maxAccessRequestDuration: option(
    { parse: duration('1m', '8760h'), default: '12h' },
    'The longest access that an access request can ask for. A longer one is rejected.',
  ),
  maxAccessRequestsPerCaller: option(
    { parse: integer(1, 10_000), default: '10' },
    'How many access requests of one caller may be pending or approved; more are 429. Together with finished ones a caller may have ten times as many.',
  ),
  accessRequestRetention: option(
    { parse: duration('1m', '8760h'), default: '168h' },
    'How long finished access requests (denied, withdrawn, expired) are kept; denied ones a day at least. The audit log keeps who asked and who decided.',
  ),
  passMaxHandles: option(
    { parse: integer(1, 1_000), default: '10' },
    'How many passes (`passes.clusterpass.dev`) of one requester and client may be waiting or ready at a time; more are 429.',
  ),
  passMaxPending: option(
    { parse: integer(1, 1_000), default: '3' },
    'How many of them may wait for an approval at a time.',
  ),
  signingAlgorithm: option(
    { value: 'ALGORITHM', parse: signingAlgorithm, default: 'ES256' },
    'Algorithm of new signing keys: `ES256`, `ES384`, or `RS256` for verifiers that support no other. After a change the next key uses it, and signs once every verifier can have fetched it.',
  ),
  signingAlgorithmFor: option(
    { value: 'AUDIENCE=ALGORITHM', parse: algorithmsByAudience, repeatable: true },
    'Signs tokens for this audience with another algorithm than `--signing-algorithm`, for example `api://AzureADTokenExchange=RS256`. Each algorithm has its own keys, which are all published and rotated. A request for audiences of two algorithms is rejected.',
  ),
  signingKeyRotation: option(
    { parse: duration('2h', '87600h', { orNever: true }), default: '2160h' },
    'How long a signing key signs before the next one replaces it; `0` rotates on request only. Tokens signed by an older key stay valid.',
  ),
  maxClockSkew: option(
    { parse: duration('5s', '1h', { orNever: true }), default: '30s' },
    'No token is signed while the local clock differs by more than this from the time of the store: the majority of the etcd members, or, with SQLite, the latest time stored. `0` disables the check.',
  ),
  externalSigner: option(
    { value: 'ADDRESS', parse: externalSigner },
    'A signer outside of the server that holds the signing keys and makes every signature: `unix:PATH` for a socket, or `exec:PROGRAM ARGUMENTS` for a program that answers on its standard output.',
  ),
  encryptionKeyFile: option(
    { parse: existing('file'), defaultText: '`<data-dir>/keys/encryption.key`, made at the first start' },
    'The key that encrypts the signing keys in the store and seals continue tokens; the same for all replicas: 32 random bytes, raw or in base64, in a file that only this user can read. Without it the signing keys are lost: keep a copy.',
  ),
};
