import type { ClusterLabels, Decision, ResourceQuestion } from '../api/authorization.ts';
import type { User } from '../api/caller.ts';

/** Of how many questions of one user the answers are kept. */
const MAX_QUESTIONS = 64;

/** An answer, and the labels that the cluster had when they were looked at for it. */
interface Answered {
  readonly decision: Decision;
  readonly labels: ClusterLabels | undefined;
  readonly isByLabels: boolean;
}

interface Answers {
  readonly of: WeakMap<ResourceQuestion, Answered>;
  count: number;
}

/**
 * Decisions of the present moment: who asks the same again is told the same, until anything changes that it could depend
 * on. That is any change of the policy (`step`), and, if the answer depended on them, another set of labels of the cluster.
 * The same means the same object: those who ask again and again have their question remembered with the request line.
 * Others, as those of a review, are made of a body and must go when it goes: nothing here keeps a question alive.
 */
export class DecisionCache {
  #byUser = new WeakMap<User, Answers>();
  #step = 0;

  /** `labelsNow` is the only way in which `decide` may look at the cluster. */
  get(
    step: number,
    user: User,
    question: ResourceQuestion,
    labelsNow: () => ClusterLabels | undefined,
    decide: (labelsOf: () => ClusterLabels | undefined) => Decision,
  ): Decision {
    if (step !== this.#step) {
      this.#byUser = new WeakMap();
      this.#step = step;
    }
    let answers = this.#byUser.get(user);
    const known = answers?.of.get(question);
    if (known !== undefined && (!known.isByLabels || known.labels === labelsNow())) return known.decision;
    let isByLabels = false;
    let labels: ClusterLabels | undefined;
    const decision = decide(() => {
      isByLabels = true;
      labels = labelsNow();
      return labels;
    });
    if (answers === undefined || answers.count >= MAX_QUESTIONS) {
      answers = { of: new WeakMap(), count: 0 };
      this.#byUser.set(user, answers);
    }
    answers.of.set(question, { decision, labels, isByLabels });
    answers.count += 1;
    return decision;
  }
}
