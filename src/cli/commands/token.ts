import { COMPUTED_ANNOTATIONS, TOKEN_CHECKS_ANNOTATION } from '../../api/clusters/annotations.ts';
import { passSecretName, SECRET_CACHE_SECONDS } from '../../api/connector.ts';
import { issuedTokenKind } from '../../api/kinds/issued-token.ts';
import { issuersFor, WEBHOOK_SECONDS } from '../../api/pass-audience.ts';
import { fieldSelectorOf } from '../../api/selectors.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus, StatusError } from '../../client/errors.ts';
import type { TrackedToken } from '../../client/types.ts';
import { terminalSafe } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { publicCluster } from '../clusters.ts';
import { CliError, type Context, dryRunOf, type Invocation, noteOf, type Run } from '../command.ts';
import { clientFor, connect, resolveConnection } from '../connection/connection.ts';
import { describeError } from '../describe-error.ts';
import { printObjects } from '../output/printer.ts';
import { parseServiceAccount } from '../service-account.ts';
import { parseTokenReference, type TokenReference } from './create-token.ts';

const ONLY_TRACKED = 'Only tracked passes are listed: others, e.g. those that kubectl uses, have no record.';

export const listTokens: Run = async (context, invocation) => {
  const selectors = [givenTokenSelector(invocation), invocation.text('fieldSelector')];
  const fieldSelector = selectors.filter((each) => each !== undefined && each !== '').join(',') || undefined;
  const client = await connect(context, invocation);
  const tokens = await client.listIssuedTokens({ fieldSelector });
  await printObjects(context, invocation, tokens, issuedTokenKind);
  if (invocation.text('output') === undefined) context.err.write(`${ONLY_TRACKED}\n`);
};

/** How much of an unknown issuer an error repeats. */
const MAX_ISSUER_LENGTH = 200;

/** Revokes tokens by their IDs, or by a token on stdin. No message repeats the input: it may be a token. */
export const revokeTokens: Run = async (context, invocation) => {
  const selection = givenTokenSelector(invocation);
  const isSelected = selection !== undefined || invocation.is('all');
  if (isSelected === invocation.args.length > 0) {
    throw new CliError('you must specify token IDs, or --cluster, --account, --requester or --all');
  }
  const dryRun = dryRunOf(invocation);
  const given = await readTokens(context, invocation);
  const connection = await resolveConnection(context, invocation);
  const client = clientFor(context, connection);
  const tokens = isSelected ? await selectedTokens(client, selection) : given;
  if (tokens.length === 0) context.err.write('No resources found\n');
  let failed = false;
  for (const token of tokens) {
    const { id, issuer } = token;
    try {
      if (issuer !== undefined && !(await isIssuedHere(client, issuer))) {
        // This server would accept the revocation of any ID, but the issuer of the token would not know of it.
        const where = terminalSafe(issuer.slice(0, MAX_ISSUER_LENGTH));
        throw new CliError(`token ${id} was issued by ${where} and must be revoked there`);
      }
      const known = await knownFacts(client, token);
      if (dryRun === 'none') await client.revokeToken(id);
      context.out.write(`token ${id} revoked at ${connection.server}${noteOf(invocation)}\n`);
      if (dryRun === 'none') context.err.write(`${stillAccepted(known, await clustersThatAsk(client, known))}\n`);
    } catch (error) {
      // A token that ended since it was selected needs no revocation.
      if (isSelected && isStatus(error, 404)) continue;
      const text = describeError(error);
      if (text === undefined) throw error;
      failed = true;
      context.err.write(`${text}\n`);
    }
  }
  return failed ? 1 : 0;
};

async function selectedTokens(client: Client, fieldSelector: string | undefined): Promise<TokenReference[]> {
  const found = await client.listIssuedTokens({ fieldSelector });
  return found.map((token) => ({ id: token.metadata.name, issuer: undefined, ...factsIn(token) }));
}

type TokenFacts = Pick<TokenReference, 'audiences' | 'expiresAt' | 'isOrdered'>;

/** Of a record. A time that cannot be read is unknown. */
function factsIn({ metadata, spec }: TrackedToken): TokenFacts {
  const expiresAt = Date.parse(spec?.expirationTimestamp ?? '') / 1000;
  const isOrdered = spec?.boundObjectRef?.name === passSecretName(metadata.name);
  return { audiences: spec?.audiences ?? [], isOrdered, ...(Number.isNaN(expiresAt) ? {} : { expiresAt }) };
}

/** From the token itself, or from its record. */
async function knownFacts(client: Client, token: TokenReference): Promise<TokenFacts> {
  if (token.expiresAt !== undefined && token.isOrdered !== true) return token;
  try {
    const path = `/apis/clusterpass.dev/v1alpha1/issuedtokens/${token.id}`;
    const facts = factsIn((await client.request<TrackedToken>('GET', path, { expects: 'object' })).value);
    return token.isOrdered === true ? { ...facts, isOrdered: true } : facts;
  } catch (error) {
    // Such a token always has one.
    if (token.isOrdered === true && isStatus(error, 404)) {
      throw new CliError(`token ${token.id} has no record here: it has ended, or another server ordered it`);
    }
    // The token has no record, or the caller may not read it.
    if (error instanceof StatusError && [403, 404].includes(error.code)) return { isOrdered: token.isOrdered === true };
    throw error;
  }
}

/** Audiences of clusters that ask Clusterpass for each token, by the name of the cluster. */
async function clustersThatAsk(client: Client, { audiences = [] }: TokenFacts): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const audience of audiences) {
    for (const { issuer, cluster } of issuersFor(audience)) {
      const annotations = (await publicCluster(client, cluster))?.metadata.annotations ?? {};
      const asks = annotations[TOKEN_CHECKS_ANNOTATION] === 'webhook';
      if (asks && annotations[COMPUTED_ANNOTATIONS.audience] === issuer) found.set(audience, cluster);
    }
  }
  return found;
}

/** Programs that verify tokens with the key set do not ask Clusterpass, and do not learn of the revocation. */
function stillAccepted(facts: TokenFacts, asking: ReadonlyMap<string, string>): string {
  const { audiences = [], expiresAt, isOrdered = false } = facts;
  if (isOrdered)
    return `Its cluster deletes the Secret that it ends with, and refuses it after ${SECRET_CACHE_SECONDS} seconds.`;
  const refused = 'Clusterpass and TokenReviews refuse it from now on.';
  const clusters = [...asking.values()].map(terminalSafe).join(' and ');
  const soon = clusters === '' ? '' : ` ${clusters}, which asks Clusterpass, within about ${WEBHOOK_SECONDS} seconds.`;
  const others = audiences.filter((audience) => !asking.has(audience));
  if (audiences.length > 0 && others.length === 0) return `${refused}${soon}`;
  const until = expiresAt === undefined ? 'until it expires' : `until ${toTimestamp(expiresAt * 1000)}`;
  const who =
    others.length === 0
      ? 'Clusters and services'
      : `Clusters and services with the audience ${others.map(terminalSafe).join(' or ')}`;
  return `${refused}${soon} ${who} that verify it with the key set accept it ${until}.`;
}

/** Paths of an issuer: `/<product name>/<cluster>`, and of its people. The server may be below a path itself. */
const ISSUER_PATHS = [/((?:\/[a-z0-9.-]+){2})$/, /((?:\/[a-z0-9.-]+){2}\/people)$/];

/** Whether this server has a discovery document of the issuer at its path. */
async function isIssuedHere(client: Client, issuer: string): Promise<boolean> {
  const pathname = URL.canParse(issuer) ? new URL(issuer).pathname : '';
  for (const pattern of ISSUER_PATHS) {
    const [, path] = pattern.exec(pathname) ?? [];
    if (path !== undefined && (await hasDocument(client, path, issuer))) return true;
  }
  return false;
}

async function hasDocument(client: Client, path: string, issuer: string): Promise<boolean> {
  try {
    const { value } = await client.request<{ issuer?: unknown }>('GET', `${path}/.well-known/openid-configuration`);
    return value.issuer === issuer;
  } catch (error) {
    // The server has no issuer at this path.
    if (error instanceof StatusError && [400, 403, 404].includes(error.code)) return false;
    throw error;
  }
}

async function readTokens(context: Context, invocation: Invocation): Promise<TokenReference[]> {
  const tokens: TokenReference[] = [];
  for (const [index, argument] of invocation.args.entries()) {
    const token = argument === '-' ? await readStdinToken(context, invocation) : parseTokenReference(argument);
    if (token === undefined) {
      const [which, hint] =
        argument === '-'
          ? ['stdin', '']
          : [`argument ${index + 1}`, '; for a token in a file: clusterpass token revoke - < FILE'];
      throw new CliError(`${which} is neither a token nor a token ID (a UUID, the claim jti)${hint}`);
    }
    tokens.push(token);
  }
  return tokens;
}

function readStdinToken(context: Context, invocation: Invocation): Promise<TokenReference | undefined> {
  if (invocation.text('tokenFile') === '-') {
    throw new CliError('stdin cannot be both the token to revoke and --token-file: pass a file to --token-file');
  }
  return context.readStdin().then(parseTokenReference);
}

/** The field selector of `--cluster`, `--account` and `--requester`; undefined when none is given. */
function givenTokenSelector(invocation: Invocation): string | undefined {
  const account = invocation.text('account');
  const { namespace, name } = account === undefined ? {} : parseServiceAccount(account, '--account');
  return fieldSelectorOf({
    'spec.cluster': invocation.text('cluster'),
    'spec.serviceAccount.namespace': namespace,
    'spec.serviceAccount.name': name,
    'spec.requestedBy.username': invocation.text('requester'),
  });
}
