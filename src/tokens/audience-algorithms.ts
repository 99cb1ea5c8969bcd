import { goQuote } from '../api/codec/go-text/go-quote.ts';
import type { Algorithm } from './keys/algorithms.ts';

/** The algorithm that a token for an audience is signed with (`--signing-algorithm-for`). Others take the default. */
export type AudienceAlgorithms = ReadonlyMap<string, Algorithm>;

/** What the audiences of a token demand: an algorithm, or two different ones, which no signature can have. */
type AlgorithmDemand =
  | { readonly algorithm: Algorithm | undefined; readonly problem?: undefined }
  | { readonly problem: string };

const ANY: AlgorithmDemand = { algorithm: undefined };

export function demandOf(byAudience: AudienceAlgorithms, audiences: readonly string[]): AlgorithmDemand {
  if (byAudience.size === 0) return ANY;
  const demands = audiences.flatMap((audience) => {
    const algorithm = byAudience.get(audience);
    return algorithm === undefined ? [] : [{ audience, algorithm }];
  });
  const [first] = demands;
  if (first === undefined) return ANY;
  const other = demands.find(({ algorithm }) => algorithm !== first.algorithm);
  if (other === undefined) return { algorithm: first.algorithm };
  const texts = [first, other].map(({ audience, algorithm }) => `${goQuote(audience)} takes ${algorithm}`);
  return { problem: `a token has one signature, and ${texts.join(', ')}: request a token for each` };
}
