const STATES = ['Current', 'Next', 'External', 'Retired'];

/** Orders signing keys by their states, as lists for people show them. */
export const compareKeyStates = (a: string | undefined, b: string | undefined): number =>
  STATES.indexOf(a ?? '') - STATES.indexOf(b ?? '');
