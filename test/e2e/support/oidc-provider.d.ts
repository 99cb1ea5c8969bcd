/** The part of it that the tests use: the package has no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  export class Provider {
    constructor(issuer: string, configuration: object);
    proxy: boolean;
    use(middleware: (context: { path: string; body: unknown }, next: () => Promise<void>) => Promise<void>): this;
    callback(): RequestListener;
    on(event: string, listener: (...args: unknown[]) => void): this;
  }
}
