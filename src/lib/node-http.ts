/**
 * The module `node:http`. An `import` of it reads every export, and one of them loads the WebSocket client of Node: 60
 * ms of CPU at every start, for something that no part uses.
 */
export const { createServer, request, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');
