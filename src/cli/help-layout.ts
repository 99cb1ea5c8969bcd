import { Help, type HelpConfiguration } from 'commander';

/** What is left of 80 columns is enough for commander to wrap descriptions, and for people to read them. */
const MAX_TERM_WIDTH = 30;

/** A flag that is wider than its column has its description on the lines below it. */
export const HELP_LAYOUT: HelpConfiguration = {
  // Its options are read only when it runs, because their table loads slowly.
  subcommandTerm: (command) =>
    command.name() === 'serve' ? 'serve [options]' : Help.prototype.subcommandTerm(command),
  padWidth: (command, helper) => Math.min(Help.prototype.padWidth.call(helper, command, helper), MAX_TERM_WIDTH),
  formatItem: (term, termWidth, description, helper) => {
    const item = (text: string) => Help.prototype.formatItem.call(helper, text, termWidth, description, helper);
    if (description === '' || helper.displayWidth(term) <= termWidth) return item(term);
    return `  ${term}\n${item('')}`;
  },
};
