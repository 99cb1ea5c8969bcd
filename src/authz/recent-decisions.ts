import type { ClusterLabels, Decision, ResourceQuestion } from '../api/authorization.ts';
import type { User } from '../api/caller.ts';

/** Of how many questions of one user the answers are kept. */
const MAX_QUESTIONS = 16;

/** An answer, and the labels that the cluster had when they were looked at for it. */
interface Answered {
  readonly decision: Decision;
  readonly labels: ClusterLabels | undefined;
  readonly isByLabels: boolean;
}

/**
 * Decisions of the present moment: who asks the same again is told the same, until anything changes that it could depend
 * on. That is any change of the policy (`step`), and, if the answer depended on them, another set of labels of the cluster.
 * The same means the same object: those who ask again and again have their question remembered with the request line.
 */
export class RecentDecisions {
  #byUser = new WeakMap<User, Map<ResourceQuestion, Answered>>();
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
    const known = answers?.get(question);
    if (known !== undefined && (!known.isByLabels || known.labels === labelsNow())) return known.decision;
    let isByLabels = false;
    let labels: ClusterLabels | undefined;
    const decision = decide(() => {
      isByLabels = true;
      labels = labelsNow();
      return labels;
    });
    if (answers === undefined) {
      answers = new Map();
      this.#byUser.set(user, answers);
    }
    if (answers.size >= MAX_QUESTIONS) answers.clear();
    answers.set(question, { decision, labels, isByLabels });
    return decision;
  }
}
