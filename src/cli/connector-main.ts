import { CONNECTOR } from './command-table/admin-commands.ts';
import { run } from './commands/connector.ts';
import { processContext } from './context.ts';
import { runAlone } from './run-alone.ts';
import { programVersion } from './version.ts';

/** The entry of `clusterpass connector`; see bin/launch.mjs. Hundreds of modules would take 4 MB of memory. */
void runAlone(CONNECTOR, run, processContext(programVersion()));
