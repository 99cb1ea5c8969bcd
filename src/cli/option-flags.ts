import { OPTION_NAMES_OF } from '../config/load-options.ts';
import { type Option, placeholderOf } from '../config/option.ts';
import { flagOf, OPTIONS } from '../config/options.ts';
import type { Command, Flag } from './command.ts';

/** The options of the server that a command takes, without defaults: those would look as if they were given. */
export const optionFlags = ({ serverOptions }: Command): readonly Flag[] =>
  serverOptions === undefined
    ? []
    : OPTION_NAMES_OF[serverOptions].map((name) => {
        const option: Option = OPTIONS[name];
        const { doc, default: text, defaultText, repeatable } = option;
        const value = placeholderOf(option);
        const fallback = defaultText ?? text;
        const note = fallback === undefined || fallback === 'false' ? '' : ` (default: ${fallback})`;
        const flags = value === undefined ? `${flagOf(name)} [true|false]` : `${flagOf(name)} <${value}>`;
        return {
          flags,
          doc: `${doc}${note}${repeatable === true ? ' Can be given several times.' : ''}`,
          repeatable: repeatable === true,
        };
      });
