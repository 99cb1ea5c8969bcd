import { parsedJson } from '../../lib/json.ts';

interface FetchDocumentOptions {
  /** PEM. Trusted in place of the system's authorities, not beside them. */
  readonly certificateAuthority?: string | undefined;
  readonly userAgent: string;
}

/** Larger than any discovery document or key set, and parsed quickly. */
const MAX_BYTES = 256 * 1024;

/** kube-apiserver has its key set as `application/jwk-set+json` only, and answers 406 without this type. */
const ACCEPT = 'application/json, application/jwk-set+json';

/**
 * Fetches small JSON documents. Redirects are not followed, so that documents come from the configured address only.
 * Connections are not reused: a document is fetched every few minutes.
 */
export function createFetchDocument({
  certificateAuthority,
  userAgent,
}: FetchDocumentOptions): (url: string, signal: AbortSignal) => Promise<unknown> {
  const connect = certificateAuthority === undefined ? {} : { ca: certificateAuthority };
  const agentOptions = { connect, maxResponseSize: MAX_BYTES, pipelining: 0 };
  return async (url, signal) => {
    // Most servers fetch nothing, and this module takes a twentieth of a start.
    const { Agent, request } = await import('undici');
    const dispatcher = new Agent(agentOptions);
    try {
      const { statusCode, body } = await request(url, {
        dispatcher,
        signal,
        headers: { accept: ACCEPT, 'user-agent': userAgent },
      });
      if (statusCode !== 200) throw new Error(`answered with ${statusCode}`);
      const document = parsedJson(await body.text());
      if (document === undefined) throw new Error('answered with something that is not JSON');
      return document;
    } catch (error) {
      throw new Error(`${url}: ${problemOf(error)}`, { cause: error });
    } finally {
      void dispatcher.destroy().catch(() => {});
    }
  };
}

function problemOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return 'did not answer in time';
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return `answered with more than ${MAX_BYTES} bytes`;
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}
