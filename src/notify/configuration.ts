import { readFile } from 'node:fs/promises';
import { type Static, Type } from 'typebox';
import { EVENTS } from '../api/notification.ts';
import { requireMountedSecret } from '../lib/secret-file.ts';
import { like, parseStrict, strict } from '../lib/strict-yaml.ts';
import { parseLabelSelector } from '../objects/selectors/label-selector.ts';

/** Without TLS only within this machine, e.g. to a relay. */
const LOCAL = String.raw`(?:localhost|127(?:\.\d+){3}|\[::1\])`;
export const isLocal = (host: string): boolean => RegExp(`^${LOCAL}$`).test(host);
const URL_PATTERN = String.raw`^(?:https://[^\s/@]+|http://${LOCAL}(?::\d+)?)(?:/\S*)?$`;
const KEYS_PATTERN = '^(?:whsec_[A-Za-z0-9+/]{32,88}={0,2}(?:\n|$))+$';
const address = like(String.raw`^[^\s@<>,;:"]+@[^\s@<>,;:"]+$`, 'an address such as ops@example.com');
const file = like('^/', 'an absolute path');

/** Secrets stand in files, which are read at each use. The URL of Slack and Teams is one: who knows it may post. */
const ReceiverSchema = strict({
  name: like('^[a-z0-9][a-z0-9.-]{0,62}$', '1 to 63 of a-z, 0-9, dots and hyphens'),
  webhook: Type.Optional(strict({ url: like(URL_PATTERN, 'an https URL without a user'), secretFile: file })),
  slack: Type.Optional(strict({ urlFile: file })),
  teams: Type.Optional(strict({ urlFile: file })),
  email: Type.Optional(
    strict({
      server: like(String.raw`^(?:[^\s/@:[\]]+|\[[\d:a-f]+\]):\d{1,5}$`, 'HOST:PORT'),
      from: address,
      to: Type.Array(address, { minItems: 1 }),
      login: Type.Optional(strict({ username: Type.String(), passwordFile: file })),
    }),
  ),
});
const event = like(`^(?:${Object.keys(EVENTS).join('|')})$`, `one of ${Object.keys(EVENTS).join(', ')}`);
const RouteSchema = strict({
  events: Type.Array(event, { minItems: 1 }),
  /** Without it: events of every cluster, and of none. */
  clusters: Type.Optional(Type.String()),
  receivers: Type.Array(Type.String(), { minItems: 1 }),
});
const Schema = strict({ receivers: Type.Array(ReceiverSchema), routes: Type.Array(RouteSchema) });

export type Receiver = Static<typeof ReceiverSchema>;
export type NotifyConfiguration = Awaited<ReturnType<typeof readNotifyConfiguration>>;

/** Rejects with an error that names the field. */
export async function readNotifyConfiguration(path: string) {
  const { receivers, routes } = parseStrict(Schema, await readFile(path, 'utf8'));
  const names = receivers.map(({ name }) => name);
  const fail = (field: string, problem: string): never => {
    throw new Error(`${field}: ${problem}`);
  };
  for (const [at, receiver] of receivers.entries()) {
    const field = `receivers[${at}]`;
    if (Object.keys(receiver).length !== 2) fail(field, 'must have one of webhook, slack, teams and email');
    if (names.indexOf(receiver.name) < at) fail(`${field}.name`, 'another receiver has it');
    await readSecret(receiver).catch(({ message }: Error) => fail(field, message));
  }
  const parsed = routes.map((route, at) => {
    const unknown = route.receivers.find((name) => !names.includes(name));
    if (unknown !== undefined) fail(`routes[${at}].receivers`, `there is no receiver ${JSON.stringify(unknown)}`);
    try {
      return { ...route, clusters: route.clusters === undefined ? undefined : parseLabelSelector(route.clusters) };
    } catch (error) {
      return fail(`routes[${at}].clusters`, (error as Error).message);
    }
  });
  return { receivers, routes: parsed };
}

/** The content of the file that the receiver names. An error has nothing of it. */
export async function readSecret({ webhook, slack, teams, email }: Receiver): Promise<string> {
  const urlFile = (slack ?? teams)?.urlFile;
  const path = webhook?.secretFile ?? urlFile ?? email?.login?.passwordFile;
  if (path === undefined) return '';
  const text = (await requireMountedSecret(path)).toString().trim();
  const keys = '`whsec_` and 24 to 64 bytes in base64, on each line';
  if (webhook && !RegExp(KEYS_PATTERN).test(text)) throw new Error(`${path} must have ${keys}`);
  if (urlFile && !RegExp(URL_PATTERN).test(text)) throw new Error(`${path} must have an https URL`);
  return text;
}
