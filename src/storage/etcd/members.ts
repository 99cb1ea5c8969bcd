import { backoff, pause } from '../../lib/backoff.ts';
import { validityOf } from '../../lib/key-pair-files.ts';
import { firstWithin } from '../../lib/promises.ts';
import { SharedCall } from '../../lib/shared-call.ts';
import type { Secret } from '../../observability/secret.ts';
import { StorageError } from '../contract.ts';
import type { TimeReading } from '../scan.ts';
import {
  isHandshakeRefusal,
  isStaleToken,
  isTransient,
  isWithoutEffect,
  noMember,
  toStorageError,
  toWriteError,
} from './etcd-errors.ts';
import { type Duplex, Member, type TlsMaterial } from './member.ts';
import { AUTHENTICATE, type UnaryMethod } from './messages.ts';
import type { Message } from './protobuf.ts';

/** Credentials for etcd. They may be renewed while the store is open. */
export interface EtcdCredentials {
  readonly tls?: TlsMaterial;
  readonly user?: { readonly name: string; readonly password: Secret };
}

export interface EtcdAccess extends EtcdCredentials {
  /** `host:port` of each member. */
  readonly endpoints: readonly string[];
}

/** The timeout of the first attempt, which doubles with each further one, and of all attempts together. */
export interface CallTimeout {
  readonly attemptMs: number;
  readonly totalMs: number;
  /** When there is no answer by then, another member is asked as well, and the first answer counts. */
  readonly hedgeMs?: number;
}

type Attempt<S> = { readonly member: Member; readonly value: S } | { readonly member: Member; readonly error: unknown };

/** A stream and the member that serves it. */
export interface OpenStream<Q, S> {
  readonly stream: Duplex<Q, S>;
  readonly member: Member;
}

/** How long a member is avoided after another one answered first. It may hang, or be slow for a moment. */
const SUSPECT_MS = 1_000;
const CONNECT_MS = 1_000;
/** Referenced: between two attempts no socket keeps a process alive that waits for nothing but this call. */
const RETRY_MS = 100;
const AUTHENTICATE_TIMEOUT: CallTimeout = { attemptMs: 1_500, totalMs: 2_000, hedgeMs: 500 };
const TIME_MS = 2_000;

/** Calls to the members of one etcd cluster: which member is asked, how often, and with which token. */
export class Members {
  readonly #members: readonly Member[];
  readonly #picker: MemberPicker;
  #credentials: EtcdCredentials;
  readonly #authenticate = new SharedCall(() => this.#requestToken());
  #token: string | undefined;
  #closed = false;

  constructor({ endpoints, ...credentials }: EtcdAccess, random: () => number = Math.random) {
    this.#members = endpoints.map((address) => new Member(address, credentials.tls));
    this.#credentials = credentials;
    this.#picker = new MemberPicker(this.#members, random);
  }

  /** Calls one member after the other until one answers or the time is over: the call may happen more than once. */
  async callIdempotent<Q, S>(
    method: UnaryMethod<Q, S>,
    request: Partial<Q>,
    timeout: CallTimeout,
    { doing, prefer }: { doing: string; prefer?: Member | undefined },
  ): Promise<S> {
    const bytes = method.request.encode(request);
    return this.#tryMembers((member, withinMs) => this.#call(member, method, bytes, withinMs), timeout, doing, prefer);
  }

  async #tryMembers<S>(
    call: (member: Member, withinMs: number) => Promise<S>,
    { attemptMs, totalMs, hedgeMs = totalMs }: CallTimeout,
    doing: string,
    prefer: Member | undefined,
  ): Promise<S> {
    const until = performance.now() + totalMs;
    /** In the order in which they began. */
    const running = new Map<Member, Promise<Attempt<S>>>();
    const problems = new Map<Member, unknown>();
    let started = 0;
    let failed = 0;
    const startNext = (left: number): void => {
      const member = this.#picker.pick(started === 0 ? prefer : undefined, running);
      const withinMs = Math.max(1, backoff(started, { first: attemptMs, most: left }));
      running.set(member, this.#attempt(member, call(member, withinMs)));
      started += 1;
    };
    for (;;) {
      const left = until - performance.now();
      if (this.#closed) throw new StorageError('closed', 'the store is closed');
      if (left <= 0 && started > 0) throw noMember(doing, this.#members, problems);
      if (running.size < this.#members.length) startNext(left);
      const all = running.size === this.#members.length;
      const ended = await firstWithin(Math.max(1, Math.min(all ? left : hedgeMs, left)), ...running.values());
      if (ended === undefined) continue;
      if ('value' in ended) {
        this.#avoidSlower(running.keys(), ended.member);
        return ended.value;
      }
      running.delete(ended.member);
      problems.set(ended.member, ended.error);
      if (!isStaleToken(ended.error) && !isTransient(ended.error)) throw ended.error;
      const hasEnded = running.size === 0 && problems.size === this.#members.length;
      if (hasEnded && [...problems.values()].some(isHandshakeRefusal)) throw noMember(doing, this.#members, problems);
      // The first round over the members is without delay.
      failed += 1;
      if (failed >= this.#members.length) await pause(RETRY_MS);
    }
  }

  /** Avoids the members that were asked before the one that answered. */
  #avoidSlower(asked: Iterable<Member>, answered: Member): void {
    for (const member of asked) {
      if (member === answered) return;
      this.#picker.avoid(member, SUSPECT_MS);
    }
  }

  /** Never rejects: an attempt that another one overtook ends later, and its error still marks the member. */
  async #attempt<S>(member: Member, call: Promise<S>): Promise<Attempt<S>> {
    try {
      return { member, value: await call };
    } catch (error) {
      if (isStaleToken(error)) this.#token = undefined;
      else if (isTransient(error)) this.#picker.avoid(member);
      return { member, error };
    }
  }

  /**
   * Calls once. It is retried only when it certainly had no effect: there was no connection, or the member refused it
   * before it began. After other errors that leave the outcome open, it is rejected with `unknown-outcome`.
   */
  async callOnce<Q, S>(
    method: UnaryMethod<Q, S>,
    request: Uint8Array,
    withinMs: number,
    { doing, prefer }: { doing: string; prefer?: Member | undefined },
  ): Promise<S> {
    const until = performance.now() + withinMs;
    for (;;) {
      const member = await this.#connected(until, doing, prefer);
      try {
        return await this.#call(member, method, request, Math.max(1, until - performance.now()));
      } catch (error) {
        if (isStaleToken(error)) this.#token = undefined;
        else if (isTransient(error)) this.#picker.avoid(member);
        if (!isWithoutEffect(error) || performance.now() + RETRY_MS >= until) {
          throw toWriteError(error, doing, member.address);
        }
        await pause(RETRY_MS);
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
    return { member, stream: member.stream(path, request, response, await this.#currentToken()) };
  }

  /** Opens a stream for one request and its response, and cancels it after `withinMs`. */
  async callStream<Q, S>(
    path: string,
    request: Message<Q>,
    response: Message<S>,
    value: Partial<Q>,
    withinMs: number,
  ): Promise<S> {
    const { stream, member } = await this.stream(path, request, response);
    const timer = setTimeout(() => stream.cancel(), withinMs);
    // The caller gets the error. Without this listener, an error after the end would end the process.
    stream.on('error', () => {});
    try {
      stream.write(value);
      for await (const message of stream) return message as S;
      throw new StorageError('unavailable', 'etcd ended a stream without a response');
    } catch (error) {
      this.failed(member, error);
      throw error;
    } finally {
      clearTimeout(timer);
      stream.cancel();
    }
  }

  /** The clocks of the members that answer in time. `monotonic` is a clock that does not jump. */
  async times(monotonic: () => number): Promise<TimeReading[]> {
    const readings = await Promise.all(
      this.#members.map(async (member): Promise<TimeReading | undefined> => {
        const asked = monotonic();
        const time = await member.time(TIME_MS);
        return time === undefined ? undefined : { member: member.address, time, asked, answered: monotonic() };
      }),
    );
    return readings.filter((reading) => reading !== undefined);
  }

  /** Called when a stream failed: the next one uses another member. */
  failed(member: Member, error: unknown): void {
    if (isStaleToken(error)) this.#token = undefined;
    this.#picker.avoid(member);
  }

  /** Of the client certificate, in milliseconds. */
  get certificateExpiry(): number | undefined {
    const cert = this.#credentials.tls?.cert;
    return cert && validityOf({ cert }).until;
  }

  renew(credentials: EtcdCredentials): void {
    this.#credentials = credentials;
    this.#token = undefined;
    for (const member of this.#members) member.renew(credentials.tls);
  }

  close(): void {
    this.#closed = true;
    for (const member of this.#members) member.close();
  }

  async #call<Q, S>(member: Member, method: UnaryMethod<Q, S>, bytes: Uint8Array, withinMs: number): Promise<S> {
    const until = performance.now() + withinMs;
    const token = await this.#currentToken();
    const response = await member.unary(method, bytes, Math.max(1, until - performance.now()), token);
    this.#picker.answered(member);
    return response;
  }

  async #connected(until: number, doing: string, prefer?: Member): Promise<Member> {
    const problems = new Map<Member, unknown>();
    for (;;) {
      const member = this.#picker.pick(prefer);
      const left = until - performance.now();
      if (this.#closed) throw new StorageError('closed', 'the store is closed');
      if (left <= 0) throw noMember(doing, this.#members, problems);
      const problem = await member.connectionProblem(Math.min(CONNECT_MS, left));
      if (problem === undefined) return member;
      problems.set(member, problem);
      this.#picker.avoid(member);
    }
  }

  async #currentToken(): Promise<string | undefined> {
    if (this.#credentials.user === undefined) return undefined;
    this.#token ??= await this.#authenticate.call();
    return this.#token;
  }

  /** https://etcd.io/docs/v3.5/op-guide/authentication/: calls carry a token instead of the password. */
  async #requestToken(): Promise<string> {
    const { user } = this.#credentials;
    if (user === undefined) throw new Error('there is no user to authenticate');
    const request = AUTHENTICATE.request.encode({ name: user.name, password: user.password.reveal() });
    const doing = `authenticate the user ${JSON.stringify(user.name)}`;
    const call = (member: Member, withinMs: number) => member.unary(AUTHENTICATE, request, withinMs, undefined);
    try {
      return (await this.#tryMembers(call, AUTHENTICATE_TIMEOUT, doing, undefined)).token;
    } catch (error) {
      throw toStorageError(error, doing);
    }
  }
}

/** A member that failed is used for this long only when no other is left. */
const AVOID_MS = 5_000;

/** Picks members round-robin. A member that does not answer is avoided for a while. */
class MemberPicker {
  readonly #members: readonly Member[];
  readonly #avoidUntil = new Map<Member, number>();
  /** Index of the member that was used last. */
  #last: number;

  constructor(members: readonly Member[], random: () => number) {
    this.#members = members;
    // Replicas with the same list of endpoints must not all start with the first.
    this.#last = Math.floor(random() * members.length);
  }

  /** `busy`: members with an attempt in progress; at least one member has none. */
  pick(prefer?: Member, busy?: { has(member: Member): boolean }): Member {
    const now = performance.now();
    const usable = (member: Member): boolean => (this.#avoidUntil.get(member) ?? 0) <= now;
    if (prefer !== undefined && usable(prefer)) return prefer;
    const count = this.#members.length;
    /** Of the avoided ones, the one that failed first. */
    let earliest: Member | undefined;
    for (let i = 1; i <= count; i++) {
      const index = (this.#last + i) % count;
      const member = this.#members[index];
      if (member === undefined) break;
      if (busy?.has(member) === true) continue;
      if (usable(member)) {
        this.#last = index;
        return member;
      }
      const until = this.#avoidUntil.get(member) ?? 0;
      if (earliest === undefined || until < (this.#avoidUntil.get(earliest) ?? 0)) earliest = member;
    }
    if (earliest === undefined) throw new StorageError('unavailable', 'no member of etcd is configured');
    return earliest;
  }

  avoid(member: Member, forMs = AVOID_MS): void {
    this.#avoidUntil.set(member, Math.max(this.#avoidUntil.get(member) ?? 0, performance.now() + forMs));
  }

  /** The member works: it is no longer avoided. */
  answered(member: Member): void {
    this.#avoidUntil.delete(member);
  }
}
