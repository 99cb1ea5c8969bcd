/** The address of an external signer: a Unix socket, or a program that the server starts and restarts. */
export type SignerAddress =
  | { readonly type: 'unix'; readonly path: string }
  | { readonly type: 'exec'; readonly command: string; readonly args: readonly string[] };
