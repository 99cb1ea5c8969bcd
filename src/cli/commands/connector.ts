import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type ConnectorRules, NOTHING_ALLOWED, readRules } from '../../connector/configuration.ts';
import { runConnector } from '../../connector/run-connector.ts';
import { realTiming } from '../../lib/backoff.ts';
import { codeOf } from '../../lib/file-problem.ts';
import { type FollowedFiles, followFiles, GONE_GRACE_MS } from '../../lib/follow-files.ts';
import { every } from '../../lib/rounds.ts';
import { terminalSafe } from '../../lib/text.ts';
import { clusterIdentity } from '../cluster-identity.ts';
import { CliError, type Run } from '../command.ts';
import { resolveConnection, tokenFor } from '../connection/connection.ts';
import { readGivenFile } from '../files/files.ts';
import { connectCluster, connectServer, POD_FOLDER } from '../sync/cluster-connection.ts';
import { mirrorCluster } from '../sync/mirror-cluster.ts';
import { registerCluster } from '../sync/register-cluster.ts';

/** Runs in a cluster: registers it, reports about it, copies its objects, and issues the tokens that are ordered. */
export const run: Run = async (context, invocation) => {
  const cluster = invocation.required('cluster');
  const configFile = resolve(context.cwd, invocation.required('config'));
  const connection = await resolveConnection(context, invocation);
  const server = connectServer(context, connection);
  const source = await connectCluster(context, invocation);
  const namespace =
    invocation.text('namespace') ?? (source.isInPod ? await readGivenFile(`${POD_FOLDER}/namespace`) : undefined);
  if (namespace === undefined) throw new CliError('--namespace is required outside of a Pod: that of the connector');
  const log = (line: string): void => context.err.write(`${terminalSafe(line)}\n`);
  const rules = await followRules(configFile, namespace, log);
  const { productName } = connection;
  const { mirror, orders } = rules.current();
  const token = async (): Promise<string> => tokenFor(connection)();
  const at = { source, server, productName, cluster };
  // Closed connections are garbage whose memory V8 does not know.
  const end = every(10_000, () => void globalThis.gc?.({ type: 'major', execution: 'async' }));
  try {
    await runConnector(
      {
        ...{ cluster, server, api: source.transport, namespace, productName, log, version: context.version, token },
        apiToken: source.token,
        identity: (signal) => clusterIdentity(source.transport, signal),
        register: async (id, signal) => {
          const claim = { token: await token(), orders };
          log(await registerCluster(context, invocation, { ...at, connection, id, claim, signal }));
        },
        holder: `${hostname()}_${randomUUID()}`,
        rules: () => rules.current(),
        mirror: async (id, signal) => {
          if (mirror.accounts) await mirrorCluster(context, { ...at, id, pods: mirror.pods }, signal);
        },
        timing: realTiming,
      },
      context.stopped(),
    );
  } finally {
    end();
    rules.close();
  }
};

/** The rules of the file, again after every change. A mistake that lasts allows nothing. */
async function followRules(
  file: string,
  namespace: string,
  report: (line: string) => void,
): Promise<FollowedFiles<ConnectorRules>> {
  const what = `configuration ${file}`;
  return followFiles({
    ...{ what, files: [file], report },
    read: async () => {
      try {
        return readRules(readFileSync(file), namespace);
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return undefined;
        throw new CliError(`${what}: ${(error as Error).message}`);
      }
    },
    whenGone: { value: NOTHING_ALLOWED, graceMs: GONE_GRACE_MS },
  });
}
