import { setTimeout as delay } from 'node:timers/promises';
import { SharedCall } from '../../lib/shared-call.ts';
import type { Secret } from '../../observability/secret.ts';
import { StorageError } from '../contract.ts';
import type { TimeReading } from '../store-time.ts';
import { isPassing, isStaleToken, isUntouched, toStorageError } from './etcd-errors.ts';
import { type Duplex, Member, type TlsMaterial } from './member.ts';
import {
  AUTHENTICATE,
  type EtcdWatchResponse,
  type UnaryMethod,
  WATCH_PATH,
  watchRequest,
  watchResponse,
} from './messages.ts';
import type { Message } from './protobuf.ts';

/** What opens the door. It may be renewed while the store is open. */
export interface EtcdCredentials {
  readonly tls?: TlsMaterial;
  readonly user?: { readonly name: string; readonly password: Secret };
}

export interface EtcdAccess extends EtcdCredentials {
  /** `host:port` of each member. */
  readonly endpoints: readonly string[];
}

/** How long a call may take: the first try, each further one twice as long as the one before, and all of them together. */
export interface Patience {
  readonly tryMs: number;
  readonly totalMs: number;
}

/** A stream at one of the members, and which one that is. */
export interface OpenStream<Q, S> {
  readonly stream: Duplex<Q, S>;
  readonly member: Member;
}

/** For so long a member that failed is asked only when no other is left. */
const AVOID_MS = 5_000;
const CONNECT_MS = 1_000;
const PAUSE_MS = 100;
const AUTHENTICATE_MS = 3_000;
const TIME_MS = 2_000;

/** The members of one etcd, taken in turn. One that does not answer is passed over for a while. */
export class Members {
  readonly #members: readonly Member[];
  readonly #avoidUntil = new Map<Member, number>();
  #user: EtcdAccess['user'];
  readonly #authenticate = new SharedCall(() => this.#askForToken());
  #token: string | undefined;
  #turn: number;
  #closed = false;

  constructor({ endpoints, tls, user }: EtcdAccess, random: () => number = Math.random) {
    this.#members = endpoints.map((address) => new Member(address, tls));
    this.#user = user;
    // Several replicas with the same list of addresses must not all begin at the first.
    this.#turn = Math.floor(random() * endpoints.length);
  }

  /** Asks until one member answers or the time is over. Only for what may be asked twice. */
  async ask<Q, S>(
    method: UnaryMethod<Q, S>,
    request: Partial<Q>,
    { tryMs, totalMs }: Patience,
    { doing, prefer }: { doing: string; prefer?: Member | undefined },
  ): Promise<S> {
    const bytes = method.request.encode(request);
    const until = performance.now() + totalMs;
    let last: unknown;
    for (let attempt = 0; ; attempt++) {
      const left = until - performance.now();
      if (this.#closed || (left <= 0 && attempt > 0)) throw toStorageError(last, doing);
      const member = this.#choose(attempt === 0 ? prefer : undefined);
      try {
        return await this.#call(member, method, bytes, Math.max(1, Math.min(tryMs * 2 ** attempt, left)));
      } catch (error) {
        last = error;
        if (isStaleToken(error)) this.#token = undefined;
        else if (isPassing(error)) this.#avoid(member);
        else throw error;
      }
      // Once round the members at full speed, then slower.
      if (attempt + 1 >= this.#members.length) await delay(PAUSE_MS, undefined, { ref: false });
    }
  }

  /**
   * Sends once. It is sent again only when it certainly did nothing: the connection was never there, or the member
   * refused before it began. Any other failure leaves open what happened, and is thrown.
   */
  async tell<Q, S>(method: UnaryMethod<Q, S>, request: Uint8Array, withinMs: number, doing: string): Promise<S> {
    const until = performance.now() + withinMs;
    for (;;) {
      const member = await this.#connected(until, doing);
      try {
        return await this.#call(member, method, request, Math.max(1, until - performance.now()));
      } catch (error) {
        if (isStaleToken(error)) this.#token = undefined;
        else if (isPassing(error)) this.#avoid(member);
        if (!isUntouched(error) || performance.now() + PAUSE_MS >= until) throw toStorageError(error, doing);
        await delay(PAUSE_MS, undefined, { ref: false });
      }
    }
  }

  async stream<Q, S>(
    path: string,
    request: Message<Q>,
    response: Message<S>,
    prefer?: Member,
  ): Promise<OpenStream<Partial<Q>, S>> {
    const until = performance.now() + CONNECT_MS * (this.#members.length + 1);
    const member = await this.#connected(until, 'be reached', prefer);
    return { member, stream: member.stream(path, request, response, await this.#freshToken()) };
  }

  /** One message there, one back. */
  async exchange<Q, S>(
    path: string,
    request: Message<Q>,
    response: Message<S>,
    value: Partial<Q>,
    withinMs: number,
  ): Promise<S> {
    const { stream, member } = await this.stream(path, request, response);
    const timer = setTimeout(() => stream.cancel(), withinMs);
    stream.on('error', () => {});
    try {
      stream.write(value);
      for await (const answer of stream) return answer as S;
      throw new StorageError('unavailable', 'etcd ended a stream without an answer');
    } catch (error) {
      this.failed(member, error);
      throw error;
    } finally {
      clearTimeout(timer);
      stream.cancel();
    }
  }

  /** The revision that etcd was last compacted at, or 0. `key` must exist. */
  async oldestKept(key: Uint8Array, { tryMs, totalMs }: Patience): Promise<number> {
    const until = performance.now() + totalMs;
    for (;;) {
      const { stream, member } = await this.stream(WATCH_PATH, watchRequest, watchResponse);
      const timer = setTimeout(() => stream.cancel(), tryMs);
      stream.on('error', () => {});
      try {
        stream.write({ create: { key, startRevision: 1 } });
        for await (const message of stream) {
          const { compactRevision, events, canceled, cancelReason } = message as EtcdWatchResponse;
          if (compactRevision > 0) return compactRevision;
          if (events.length > 0) return 0;
          if (canceled) throw new StorageError('unavailable', `etcd refused a watch: ${cancelReason}`);
        }
      } catch (error) {
        this.failed(member, error);
        if (performance.now() >= until) throw toStorageError(error, 'say what it has compacted');
      } finally {
        clearTimeout(timer);
        stream.cancel();
      }
    }
  }

  /** What time it is at each member that says so. */
  async times(steady: () => number): Promise<TimeReading[]> {
    const readings = await Promise.all(
      this.#members.map(async (member): Promise<TimeReading | undefined> => {
        const asked = steady();
        const time = await member.time(TIME_MS);
        return time === undefined ? undefined : { member: member.address, time, asked, answered: steady() };
      }),
    );
    return readings.filter((reading) => reading !== undefined);
  }

  /** A stream ended badly, or did not answer: the next one goes elsewhere. */
  failed(member: Member, error: unknown): void {
    if (isStaleToken(error)) this.#token = undefined;
    this.#avoid(member);
  }

  renew({ tls, user }: EtcdCredentials): void {
    this.#user = user;
    this.#token = undefined;
    for (const member of this.#members) member.renew(tls);
  }

  close(): void {
    this.#closed = true;
    for (const member of this.#members) member.close();
  }

  async #call<Q, S>(member: Member, method: UnaryMethod<Q, S>, bytes: Uint8Array, withinMs: number): Promise<S> {
    const answer = await member.unary(method, bytes, withinMs, await this.#freshToken());
    this.#avoidUntil.delete(member);
    return answer;
  }

  async #connected(until: number, doing: string, prefer?: Member): Promise<Member> {
    for (;;) {
      const member = this.#choose(prefer);
      const left = until - performance.now();
      if (this.#closed) throw new StorageError('closed', 'the store is closed');
      if (left <= 0) throw new StorageError('unavailable', `etcd could not ${doing}: no member can be reached`);
      if (await member.ready(Math.min(CONNECT_MS, left))) return member;
      this.#avoid(member);
    }
  }

  #choose(prefer?: Member): Member {
    const now = performance.now();
    const usable = (member: Member): boolean => (this.#avoidUntil.get(member) ?? 0) <= now;
    if (prefer !== undefined && usable(prefer)) return prefer;
    const count = this.#members.length;
    let longest: Member | undefined;
    for (let step = 1; step <= count; step++) {
      const member = this.#members[(this.#turn + step) % count];
      if (member === undefined) break;
      if (usable(member)) {
        this.#turn = (this.#turn + step) % count;
        return member;
      }
      const since = this.#avoidUntil.get(member) ?? 0;
      if (longest === undefined || since < (this.#avoidUntil.get(longest) ?? 0)) longest = member;
    }
    if (longest === undefined) throw new StorageError('unavailable', 'no member of etcd is configured');
    return longest;
  }

  #avoid(member: Member): void {
    this.#avoidUntil.set(member, performance.now() + AVOID_MS);
  }

  async #freshToken(): Promise<string | undefined> {
    if (this.#user === undefined) return undefined;
    this.#token ??= await this.#authenticate.ask();
    return this.#token;
  }

  /** https://etcd.io/docs/v3.5/op-guide/authentication/: a token instead of the password in every call. */
  async #askForToken(): Promise<string> {
    const user = this.#user;
    if (user === undefined) throw new Error('there is no user to authenticate');
    const request = AUTHENTICATE.request.encode({ name: user.name, password: user.password.reveal() });
    let last: unknown;
    for (let attempt = 0; attempt <= this.#members.length; attempt++) {
      const member = this.#choose();
      try {
        return (await member.unary(AUTHENTICATE, request, AUTHENTICATE_MS, undefined)).token;
      } catch (error) {
        last = error;
        if (!isPassing(error)) break;
        this.#avoid(member);
      }
    }
    throw toStorageError(last, `authenticate the user ${JSON.stringify(user.name)}`);
  }
}
