import { run } from '../run-command.mjs';
import { ROOT } from '../setup.mjs';

/** The time of everything in an artefact: that of the commit, so that the same sources give the same bytes. */
export function sourceDate() {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined) return Number(given);
  try {
    return Number(run('git', ['-C', ROOT, 'log', '-1', '--format=%ct']).trim());
  } catch {
    return 0;
  }
}

/**
 * Arguments of GNU tar for an archive whose bytes depend on the files only: sorted, with fixed owners, modes and times.
 * @param {{ owner?: number, mode?: string }} [options]
 */
export const fixedTar = ({ owner = 0, mode = 'u=rwX,go=rX' } = {}) => [
  ...['--format=posix', '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime', '--sort=name'],
  ...[`--mtime=@${sourceDate()}`, `--owner=${owner}`, `--group=${owner}`, '--numeric-owner', `--mode=${mode}`],
];
