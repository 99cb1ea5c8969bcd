import { run } from '../run-command.ts';
import { ROOT } from '../setup.mjs';

/** The time of everything in an artefact: that of the commit, so that the same sources give the same bytes. */
export function sourceDate(): number {
  try {
    return Number(process.env.SOURCE_DATE_EPOCH ?? run('git', ['-C', ROOT, 'log', '-1', '--format=%ct']));
  } catch {
    return 0;
  }
}

/** Arguments of GNU tar for an archive whose bytes depend on the files only: fixed order, owners, modes and times. */
export const fixedTar = ({ owner = 0, mode = 'u=rwX,go=rX' } = {}): string[] => [
  ...['--format=posix', '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime', '--sort=name'],
  ...[`--mtime=@${sourceDate()}`, `--owner=${owner}`, `--group=${owner}`, '--numeric-owner', `--mode=${mode}`],
];
