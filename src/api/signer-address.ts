/** Where an external signer is: a socket that it listens on, or a program that is started and kept. */
export type SignerAddress =
  | { readonly type: 'unix'; readonly path: string }
  | { readonly type: 'exec'; readonly command: string; readonly args: readonly string[] };
