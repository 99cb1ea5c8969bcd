/** The part of it that the tests use: the package has no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  interface Context {
    readonly path: string;
    body: unknown;
    readonly oidc?: { readonly params?: Readonly<Record<string, string>> };
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    proxy: boolean;
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): this;
    callback(): RequestListener;
    on(event: string, listener: (...args: unknown[]) => void): this;
  }
}
