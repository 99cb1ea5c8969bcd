import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { noMember, problemOf, toStorageError, toWriteError } from './etcd-errors.ts';

const serviceError = (code: status, details: string): Error =>
  Object.assign(new Error(`${code} ${status[code]}: ${details}`), { code, details });

const lost = (error: string) =>
  [status.UNAVAILABLE, `No connection established. Last error: ${error}. Resolution note: `] as const;
/** As OpenSSL reports an alert of the other side. */
const alert = (code: string, words: string, number: number): string =>
  `40F3:error:${code}:SSL routines:ssl3_read_bytes:${words}:rec_layer_s3.c:918:SSL alert number ${number}\n`;
const SELF_SIGNED = 'self-signed certificate';
const NO_NAME = "Hostname/IP does not match certificate's altnames: IP: 10.0.0.1 is not in the cert's list: ";
const NOT_ACCEPTED = 'it does not accept the client certificate of --etcd-certfile';

it.each<[status, string, string, string?]>([
  [status.DEADLINE_EXCEEDED, 'Deadline exceeded after 3.001s,LB pick: 0.001s,remote_addr=127.0.0.1:2379', 'no answer'],
  [...lost('Error: connect ECONNREFUSED 127.0.0.1:1'), 'connect ECONNREFUSED 127.0.0.1:1'],
  [
    ...lost(`Error: ${SELF_SIGNED}; if the root CA is installed locally, try running Node.js with --use-system-ca`),
    `this server refuses its certificate: ${SELF_SIGNED}`,
    'refused',
  ],
  [...lost(`Error: ${NO_NAME}`), `this server refuses its certificate: ${NO_NAME}`, 'refused'],
  [
    ...lost(alert('0A00045C', 'tlsv13 alert certificate required', 116)),
    `${NOT_ACCEPTED}: tlsv13 alert certificate required`,
    'refused',
  ],
  [...lost(alert('0A000418', 'tlsv1 alert unknown ca', 48)), `${NOT_ACCEPTED}: tlsv1 alert unknown ca`, 'refused'],
  [...lost(alert('0A000438', 'tlsv1 alert internal error', 80)), 'tlsv1 alert internal error'],
  [status.UNAVAILABLE, 'etcdserver: no leader', 'no leader'],
])('B33: %i %s: in words', (code, details, words, expected = 'unavailable') => {
  const error = serviceError(code, details);
  expect(problemOf(error)).toBe(words);
  const { message, code: kind } = toStorageError(error, 'take the write', '10.0.0.1:2379');
  expect(message).toBe(`etcd could not take the write: 10.0.0.1:2379: ${words}`);
  expect(kind).toBe(expected);
});

it('B33: what needs an operator is distinguished from what passes', () => {
  for (const [code, details] of [
    [status.INVALID_ARGUMENT, 'etcdserver: authentication failed, invalid user ID or password'],
    [status.PERMISSION_DENIED, 'etcdserver: permission denied'],
  ] as const) {
    expect(toStorageError(serviceError(code, details), 'be opened').code).toBe('refused');
  }
});

it('B33: of members that cannot be used, each is named with its problem', () => {
  const [one, two] = [{ address: 'a:1' }, { address: 'b:2' }];
  const problems = new Map<object, unknown>([[two, serviceError(status.UNAVAILABLE, 'connect ECONNREFUSED')]]);
  expect(noMember('be reached', [one, two], problems).message).toBe(
    'etcd could not be reached: a:1: no answer; b:2: connect ECONNREFUSED',
  );
});

it('B30: if one member refuses this process and none answers it, etcd has refused it', () => {
  const [one, two] = [{ address: 'a:1' }, { address: 'b:2' }];
  const silent = serviceError(status.UNAVAILABLE, 'connect ECONNREFUSED');
  const refused = serviceError(
    status.UNAVAILABLE,
    'No connection established. Last error: tlsv1 alert unknown ca:rec_layer_s3.c:918:SSL alert number 48',
  );
  const codeOf = (problems: [object, unknown][]) => noMember('be read', [one, two], new Map(problems)).code;
  expect(codeOf([[one, silent]])).toBe('unavailable');
  // It has expired, and the next call has another one.
  expect(codeOf([[one, serviceError(status.UNAUTHENTICATED, 'etcdserver: invalid auth token')]])).toBe('unavailable');
  expect(codeOf([[two, refused]])).toBe('refused');
  expect(
    codeOf([
      [one, refused],
      [two, silent],
    ]),
  ).toBe('refused');
});

it.each([
  [status.DEADLINE_EXCEEDED, 'Deadline exceeded after 2.400s,LB pick: 0.001s,remote_addr=127.0.0.1:2379'],
  [status.UNAVAILABLE, 'Connection dropped'],
  [status.UNAVAILABLE, 'etcdserver: request timed out'],
  [status.UNAVAILABLE, 'etcdserver: leader changed'],
  [status.CANCELLED, 'Call cancelled'],
  [status.INTERNAL, 'Received RST_STREAM with code 2'],
])('after %i %s a write may have happened', (code, details) => {
  expect(toWriteError(serviceError(code, details), 'take the write').code).toBe('unknown-outcome');
});

it.each([
  [status.UNAVAILABLE, 'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1', 'unavailable'],
  [status.UNAVAILABLE, 'Name resolution failed for target dns:etcd:2379: getaddrinfo ENOTFOUND etcd', 'unavailable'],
  [status.UNAVAILABLE, 'Stream refused by server', 'unavailable'],
  [status.UNAVAILABLE, 'etcdserver: no leader', 'unavailable'],
  [status.RESOURCE_EXHAUSTED, 'etcdserver: mvcc: database space exceeded', 'unavailable'],
  [status.RESOURCE_EXHAUSTED, 'etcdserver: too many requests', 'unavailable'],
  [status.UNAUTHENTICATED, 'etcdserver: invalid auth token', 'refused'],
  [status.PERMISSION_DENIED, 'etcdserver: permission denied', 'refused'],
  [status.INVALID_ARGUMENT, 'etcdserver: request is too large', 'too-large'],
])('after %i %s a write has not happened: %s', (code, details, expected) => {
  expect(toWriteError(serviceError(code, details), 'take the write').code).toBe(expected);
});
