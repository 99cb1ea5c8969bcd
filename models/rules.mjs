/**
 * What may follow what, once for the models and for the checker of traces. `run-models.mjs` writes it as macros into
 * `rules.h`, which the models include: they assert it at each transition, in all states. '' is: there is none.
 *
 * @typedef {Readonly<Record<string, readonly string[]>>} Moves from each state to those that may follow
 */

/** An order of the connector. @type {Moves} */
export const ORDER = {
  '': ['MADE'],
  MADE: ['CLAIMED', 'GONE'],
  CLAIMED: ['ANSWERED', 'GONE'],
  ANSWERED: ['ISSUED', 'GONE'],
  ISSUED: ['GONE'],
};

/**
 * What there is in a cluster for an order: a record, a Secret, a token that ends with the Secret. A creation that was
 * under way for minutes makes a Secret without a record, for which no token is requested. @type {Moves}
 */
export const IN_CLUSTER = {
  '': ['RECORD', 'SECRET_ONLY'],
  RECORD: ['SECRET', ''],
  SECRET: ['TOKEN', 'RECORD', 'SECRET_ONLY'],
  TOKEN: ['RECORD'],
  SECRET_ONLY: [''],
};

/** An object at the client of a watch: what it is sent while it has none, and while it has it. @type {Moves} */
export const CLIENT = {
  '': ['ADDED'],
  HAS: ['MODIFIED', 'DELETED'],
};

/** A term of a leader. @type {Moves} */
export const TERM = {
  '': ['HELD'],
  HELD: ['HELD', 'ENDED'],
};

/** B30: how old a decision may be, and a tick of the models. */
export const BOUND_MS = 1_000;
const TICK_MS = 350;

/** @param {Moves} moves @param {string} from @param {string} to */
export const may = (moves, from, to) => moves[from]?.includes(to) === true;

/** For the models: `MAY_ORDER(from, to)` and so on. */
export function rulesHeader() {
  const macros = Object.entries({ ORDER, IN_CLUSTER, CLIENT, TERM }).map(([name, moves]) => {
    const pairs = Object.entries(moves).flatMap(([from, next]) => next.map((to) => [from || '0', to || '0']));
    return `#define MAY_${name}(from, to) (${pairs.map(([a, b]) => `((from) == ${a} && (to) == ${b})`).join(' || ')})\n`;
  });
  return `${macros.join('')}#define MAX_AGE ${Math.ceil(BOUND_MS / TICK_MS)}\n`;
}
