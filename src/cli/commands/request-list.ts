import { fieldSelectorFor } from '../../api/field-selector-text.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { Client } from '../../client/create-client.ts';
import type { Approvable } from '../approvable.ts';
import { type Invocation, type Run, UsageError } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { asList, printerFor } from '../output/printer.ts';
import { cellsOf, renderTable } from '../output/table.ts';

export const runFor =
  (of: Approvable): Run =>
  async (context, invocation) => {
    const format = invocation.text('output');
    const print = await printerFor(format);
    const fieldSelector = fieldSelectorOf(of, invocation);
    const client = await connect(context, invocation);
    const requests = await listObjects(client, of, fieldSelector);
    if (print !== undefined) {
      context.out.write(print(asList(requests)));
      return 0;
    }
    if (requests.length === 0) {
      context.err.write('No resources found\n');
      return 0;
    }
    const columns = of.kind.columns.filter(({ priority }) => format === 'wide' || priority === 0);
    const headers = invocation.isOff('headers') ? [] : [columns.map(({ name }) => name.toUpperCase())];
    context.out.write(renderTable([...headers, ...requests.map((each) => cellsOf(columns, each, context.now()))]));
    return 0;
  };

function fieldSelectorOf({ phases }: Approvable, invocation: Invocation): string {
  const phase = invocation.text('phase');
  if (phase !== undefined && !phases.includes(phase)) {
    throw new UsageError(`--phase: ${JSON.stringify(phase)} must be one of ${phases.join(', ')}`);
  }
  const wanted: Readonly<Record<string, string | undefined>> = {
    'spec.cluster': invocation.text('cluster'),
    'spec.requestedBy.username': invocation.text('requester'),
    'status.phase': phase,
  };
  return Object.entries(wanted)
    .flatMap(([field, value]) => (value === undefined ? [] : [fieldSelectorFor(field, value)]))
    .join(',');
}

interface ObjectList {
  readonly items: readonly ApiObject[];
}

/** In one page: the server bounds the objects of each caller. */
async function listObjects(client: Client, of: Approvable, fieldSelector: string): Promise<ApiObject[]> {
  const query = fieldSelector === '' ? {} : { fieldSelector };
  const { value } = await client.request<ObjectList>('GET', of.path, { query, expects: 'list' });
  return value.items.map((item) => ({ ...item, ...of.type }));
}
