import { type Option, placeholderOf } from '../src/config/option.ts';
import { flagOf, OPTION_NAMES, OPTIONS, type OptionName } from '../src/config/options.ts';

const HEAD = `# Options of \`clusterpass serve\`

<!-- Generated from src/config/options.ts by \`npm run generate\`; edit the table there. -->

For operators: every option of the server. An option can be set in three places; the first one wins:

1. as a flag: \`--listen 127.0.0.1:9000\`; \`--demo\` turns a switch on, \`--demo=false\` turns it off;
2. as an environment variable, by the flag's name in capitals: \`CLUSTERPASS_LISTEN=127.0.0.1:9000\`; an empty one
   counts as unset;
3. in the YAML file named by \`--config\`, under the flag's name without the dashes: \`listen: 127.0.0.1:9000\`.

An unknown flag or key, or an invalid value, prevents the start with a message that names it. An unknown
\`CLUSTERPASS_*\` variable is a warning. Durations are written as in Go: \`24h\`, \`5m\`, \`90s\`, \`1h30m\`. Relative
paths are relative to the working directory. Without a default an option is unset, and a switch off.

`;

function defaultOf(option: Option): string | undefined {
  const { default: text, defaultText } = option;
  if (defaultText !== undefined) return defaultText;
  return text === undefined || placeholderOf(option) === undefined ? undefined : `\`${text}\``;
}

function item(name: OptionName): string {
  const option: Option = OPTIONS[name];
  const flag = [flagOf(name), placeholderOf(option)].join(' ').trim();
  const fallback = defaultOf(option);
  return `- \`${flag}\`: ${option.doc}${fallback === undefined ? '' : ` Default: ${fallback}.`}\n`;
}

/** The text of docs/options.md. */
export function renderOptionsReference(): string {
  return HEAD + OPTION_NAMES.map(item).join('');
}
