/** What receivers of notifications are told: the types of events are names in `--notify-config` and in webhooks. */

/** The events, each with the title of a message about it. */
export const EVENTS = {
  'request.waiting': 'Access requests that wait for a decision',
  'request.decided': 'Decided access requests',
  'pass.waiting': 'Passes that wait for a decision',
  'pass.decided': 'Decided passes',
  'endpoints.waiting': 'Clusters whose address or CA waits for confirmation',
  'key.ending': 'Keys and certificates that end soon',
  'cluster.not-ready': 'Clusters that are not ready',
  'cluster.ready': 'Clusters that are ready again',
} as const;

export type EventType = keyof typeof EVENTS;

/** What a message says of one object. */
export interface NotificationItem {
  readonly cluster?: string;
  /** One line, without words that look like tokens. */
  readonly text: string;
  readonly url?: string;
}

/** One message for one receiver. It is in the store until it is sent. */
export interface Notification {
  /** The same whenever it is sent again, so that a receiver can drop the second one. */
  readonly id: string;
  readonly receiver: string;
  readonly type: EventType;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly items: readonly NotificationItem[];
  /** How many items were left out. */
  readonly more: number;
}

/** Has no name that a person chose: it is a header of mail, and Slack looks for markup in it. */
export const titleOf = ({ type, items, more }: Notification): string =>
  `Clusterpass: ${EVENTS[type]} (${items.length + more})`;

export const linesOf = ({ items, more }: Notification): readonly Pick<NotificationItem, 'text' | 'url'>[] =>
  more === 0 ? items : [...items, { text: `and ${more} more` }];

/** In the texts of `rich_text` Slack looks for no markup, and Teams for none in those of a TextRun. */
function slackBody(message: Notification): object {
  const section = (...elements: object[]) => ({ type: 'rich_text_section', elements });
  const title = section({ type: 'text', text: titleOf(message), style: { bold: true } });
  const lines = linesOf(message).map(({ text, url }) =>
    section({ type: 'text', text: `${text} ` }, ...(url === undefined ? [] : [{ type: 'link', url, text: 'Open' }])),
  );
  const elements = [title, { type: 'rich_text_list', style: 'bullet', elements: lines }];
  return { text: titleOf(message), blocks: [{ type: 'rich_text', elements }] };
}

function teamsBody(message: Notification): object {
  const block = (...inlines: object[]) => ({ type: 'RichTextBlock', inlines });
  const title = block({ type: 'TextRun', text: titleOf(message), weight: 'Bolder' });
  const lines = linesOf(message).map(({ text, url }) => {
    const link = { type: 'TextRun', text: 'Open', selectAction: { type: 'Action.OpenUrl', url } };
    return block({ type: 'TextRun', text: `${text} ` }, ...(url === undefined ? [] : [link]));
  });
  const content = { type: 'AdaptiveCard', version: '1.4', body: [title, ...lines] };
  return { type: 'message', attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }] };
}

/** The body of a request, by the type of the receiver. */
export const BODIES = {
  webhook: (message: Notification): object => ({
    type: message.type,
    timestamp: new Date(message.at).toISOString(),
    data: { title: titleOf(message), items: message.items, more: message.more },
  }),
  slack: slackBody,
  teams: teamsBody,
};
