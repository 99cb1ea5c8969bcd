import { compactDecrypt } from 'jose';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { ANSWER_ALGORITHMS, ORDER_SECONDS, type OrderAnswer } from '../../api/connector.ts';
import { orderStatus, tokenOrderKind } from '../../api/kinds/token-order.ts';
import { badGateway } from '../../api/status.ts';
import { firstWithin } from '../../lib/first-within.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ReflectorListener } from '../../storage/reflector.ts';

/**
 * The orders that requests of this process wait for. Answers come with the watch of the store, so it does not matter
 * which replica or worker the connector has written to.
 */
export class OrderAnswers implements ReflectorListener<StoredObject> {
  readonly #find: (key: string) => StoredObject | undefined;
  /** By the key of the order. */
  readonly #waiting = new Map<string, (sealed: string | undefined) => void>();

  constructor(reader: Pick<ObjectReader, 'cache'>) {
    this.#find = (key) => reader.cache(tokenOrderKind).get(key);
  }

  /**
   * Creates the order and waits for its answer; undefined when the order was deleted, when the signal is aborted, and
   * when there is none in time.
   */
  async of(key: string, signal: AbortSignal, create: () => Promise<unknown>): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const leave = (): void => resolve(undefined);
    this.#waiting.set(key, resolve);
    signal.addEventListener('abort', leave);
    try {
      await create();
      return signal.aborted ? undefined : await firstWithin(ORDER_SECONDS * 1000, promise);
    } finally {
      this.#waiting.delete(key);
      signal.removeEventListener('abort', leave);
    }
  }

  onEvent({ before, after }: { readonly before: StoredObject | undefined; readonly after: StoredObject | undefined }) {
    this.#look((after ?? before)?.key ?? '', after, after === undefined);
  }

  /** Some that are waited for may not be created yet. */
  onReset(): void {
    for (const key of this.#waiting.keys()) this.#look(key, this.#find(key), false);
  }

  #look(key: string, entry: StoredObject | undefined, isGone: boolean): void {
    const resolve = this.#waiting.get(key);
    const answer = resolve && entry && orderStatus(entry.object()).answer;
    if (answer !== undefined || isGone) resolve?.(answer);
  }
}

export const connectorOf = (cluster: string): string => `the connector of cluster ${goQuote(cluster)}`;

/** The answer to this order. @throws ApiError 502 for what only looks like one. */
export async function openAnswer(
  sealed: string,
  privateKey: CryptoKey,
  order: string,
  cluster: string,
): Promise<OrderAnswer & { readonly bytes: Buffer }> {
  try {
    const { plaintext } = await compactDecrypt(sealed, privateKey, {
      keyManagementAlgorithms: [ANSWER_ALGORITHMS.alg],
      contentEncryptionAlgorithms: [ANSWER_ALGORITHMS.enc],
    });
    const answer = JSON.parse(Buffer.from(plaintext).toString()) as OrderAnswer;
    if (answer.order === order) return { ...answer, bytes: Buffer.from(JSON.stringify(answer.body ?? null)) };
  } catch (error) {
    throw badGateway(`the answer of ${connectorOf(cluster)} cannot be read`, error);
  }
  throw badGateway(`the answer of ${connectorOf(cluster)} is one to another order`);
}
