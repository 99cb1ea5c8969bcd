import type { Kind } from '../kind.ts';
import { invalidValue } from '../status.ts';
import { accountText } from './approval.ts';
import { approvalKind } from './approval-kind.ts';
import { textColumn } from './columns.ts';
import { flag, list, part, SHORT, struct, text, texts, timestamp } from './meta.ts';
import { isHandle, MAX_CLIENT_NAME, PASS_PHASES, passErrors, passSpec, passStatus } from './pass-spec.ts';

/** A handle that is redeemed more often is used by something that does not cache its credential. */
export const MAX_PASS_TOKENS = 32;

const ClientSchema = part('PassClient', 'The agent that asks for the requester; absent if it is a person.', {
  id: text('The client, as its token says; `login` if it uses the login of a person. Set by the server.', SHORT),
  name: text('What the client calls itself.', { maxLength: MAX_CLIENT_NAME }),
});

const TokenSchema = struct('PassToken', 'A token that was issued for the pass.', {
  id: text('The id of the token, its claim `jti`; empty if a cluster has issued it without a UUID.'),
  expirationTimestamp: timestamp(),
  revocable: flag('False if the cluster has issued the token: it accepts it until it expires.'),
});

/** A handle for tokens of one service account, for one purpose and some minutes. */
export const passKind: Kind = approvalKind({
  kind: 'Pass',
  about: {
    kind: 'A handle for tokens of a service account, which its requester redeems.',
    spec: 'What the pass is for.',
    cluster: 'The cluster.',
    serviceAccount: 'The service account whose token the pass gives.',
    durationSeconds: 'How long the pass can be used. Ten minutes if unset, fifteen at most.',
    conditions: 'Decisions about the pass, and its end.',
    expiry: 'When a pending pass is given up, or when the pass ends.',
  },
  phases: PASS_PHASES,
  specFields: {
    audiences: texts('The audiences of the token; empty for the API of the cluster.'),
    purpose: text('What the pass is for, in one line of 8 to 200 characters. Approvers and auditors read it.', SHORT),
    codeChallenge: text(
      'The SHA-256, in base64url, of a secret that is needed to redeem the pass (S256 of RFC 7636); unset for none.',
      SHORT,
    ),
    client: ClientSchema,
  },
  statusFields: {
    approval: text('What the pass needs: `none`, `confirm` by the requester, or `review` by another person.'),
    serviceAccountUID: text(
      'The UID of the service account that the pass is for; empty if the account is only known to its cluster.',
    ),
    tokens: list(TokenSchema, { maxItems: MAX_PASS_TOKENS, description: 'The tokens that were issued for the pass.' }),
  },
  // Handles have an underscore.
  nameRule: 'path-segment',
  // No collection is deleted at once: the tokens of each pass are revoked first.
  verbs: new Set(['get', 'list', 'watch', 'create', 'delete']),
  errors: (object) => {
    const { name = '' } = object.metadata;
    const errors = passErrors(object);
    if (isHandle(name)) return errors;
    return [...errors, invalidValue('metadata.name', name, 'must be a handle that the server has made')];
  },
  instead: 'ask for another pass',
  columns: [
    textColumn('Client', 'The agent that asks for the requester.', (object) => passSpec(object).client?.id),
    textColumn('Account', 'The service account.', (object) => accountText(passSpec(object))),
  ],
  wideColumns: [
    textColumn('Purpose', 'What it is for.', (object) => passSpec(object).purpose, 1),
    textColumn('Approval', 'The approval that it needs.', (object) => passStatus(object).approval, 1),
  ],
});
