import { compactDecrypt } from 'jose';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { ANSWER_ALGORITHMS, ORDER_SECONDS, type OrderAnswer } from '../../api/connector.ts';
import { orderStatus, tokenOrderKind } from '../../api/kinds/token-order.ts';
import { badGateway } from '../../api/status.ts';
import { firstWithin } from '../../lib/first-within.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';

/**
 * The orders that requests of this process wait for. Answers come with the watch of the store, so it does not matter
 * which replica or worker the connector has written to.
 */
export function createOrderAnswers(reader: Pick<ObjectReader, 'cache'>) {
  /** By the key of the order. */
  const waiting = new Map<string, (sealed: string | undefined) => void>();

  /**
   * Creates the order and waits for its answer; undefined when the order was deleted, when the signal is aborted, and
   * when there is none in time.
   */
  async function of(key: string, signal: AbortSignal, create: () => Promise<unknown>): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const leave = (): void => resolve(undefined);
    waiting.set(key, resolve);
    signal.addEventListener('abort', leave);
    try {
      await create();
      return signal.aborted ? undefined : await firstWithin(ORDER_SECONDS * 1000, promise);
    } finally {
      waiting.delete(key);
      signal.removeEventListener('abort', leave);
    }
  }

  function onEvent({ before, after }: Record<'before' | 'after', StoredObject | undefined>) {
    look((after ?? before)?.key ?? '', after, after === undefined);
  }

  /** Some that are waited for may not be created yet. */
  function onReset(): void {
    for (const key of waiting.keys()) look(key, reader.cache(tokenOrderKind).get(key), false);
  }

  function look(key: string, entry: StoredObject | undefined, isGone: boolean): void {
    const resolve = waiting.get(key);
    const answer = resolve && entry && orderStatus(entry.object()).answer;
    if (answer !== undefined || isGone) resolve?.(answer);
  }

  return { of, onEvent, onReset };
}

export type OrderAnswers = ReturnType<typeof createOrderAnswers>;

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
