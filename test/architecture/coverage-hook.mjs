/**
 * Preloaded into a server by walks.test.ts (`--import`). On the Unix socket COVERAGE_SOCKET it answers each connection
 * with the URLs of the modules of which a function was called since the connection before.
 */
import { Session } from 'node:inspector/promises';
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

  createServer(async (socket) => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const called = result
      // The function that starts at 0 is the module's own code, which runs once, at import.
      .filter(({ functions }) =>
        functions.some(({ ranges: [range] }) => range !== undefined && range.startOffset > 0 && range.count > 0),
      )
      .map(({ url }) => url)
      .filter((url) => url.startsWith('file:'));
    socket.end(JSON.stringify(called));
  })
    .listen(process.env.COVERAGE_SOCKET)
    .unref();
}
