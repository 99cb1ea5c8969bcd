import type { Command } from '../command.ts';

/** Commands for agents. */
export const AGENT_COMMANDS: readonly Command[] = [
  {
    path: ['mcp'],
    summary: 'Serve the Model Context Protocol on stdin and stdout, for an agent.',
    details:
      'For tools that find clusters, explain access and request passes ([agents.md](agents.md)), with your ' +
      'login and its permissions. No tool returns a token. Logs are on stderr. Ends at the end of its input.',
    flags: [
      { flags: '--read-only', doc: 'Only the tools that change nothing.' },
      {
        flags: '--max-result-bytes <number>',
        doc: 'The longest result of a tool, from 8192 to 1048576.',
        default: '65536',
      },
      { flags: '--call-timeout <duration>', doc: 'How long a call may take, from 1s to 5m.', default: '30s' },
    ],
    notRun: 'they wait for messages on stdin',
    examples: ['clusterpass mcp', 'clusterpass mcp --read-only'],
  },
];
