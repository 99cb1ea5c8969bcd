import { onTestFinished } from 'vitest';
import { type Responder, scriptServer } from '../../../src/client/script-server.fixture.ts';
import { Person } from './cli.ts';

/** A user of a server that sends these responses, in order; until the end of the test. */
export async function personAt(responders: Responder[]): Promise<Person> {
  const server = await scriptServer(responders);
  const person = await Person.at({ CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: 'x' });
  onTestFinished(() => server.close());
  return person;
}
