/**
 * A token that names us as its issuer and is not accepted. The message is what a token review shows (K-11 to
 * K-20); over HTTP every one of them is the same 401, so that a guess teaches nothing.
 */
export class TokenRejected extends Error {
  override readonly name = 'TokenRejected';
}

/** Not a token of ours at all (K-10): somebody else may know it. */
export const NOT_MINE = 'not-mine';
export type NotMine = typeof NOT_MINE;
