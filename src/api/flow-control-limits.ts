/**
 * Limits of flow control, in the words of Kubernetes' API Priority and Fairness. A flow is the requests of one caller.
 */
export interface FlowControlLimits {
  /** Seats of a priority level: how many of its requests are served at the same time. */
  readonly tokenSeats: number;
  readonly readSeats: number;
  readonly writeSeats: number;
  readonly watchSeats: number;
  /** How much of the seats for tokens, reads, writes and large bodies one flow may take, in percent. */
  readonly seatPercentPerFlow: number;
  /** How many requests of one flow may wait for a seat, at each of these levels. */
  readonly queueLengthPerFlow: number;
  readonly watchSeatsPerFlow: number;
  /** Of a flow that may see no cluster. */
  readonly watchSeatsWithoutPermission: number;
}

/** The share of one flow. */
export const seatsPerFlow = (seats: number, { seatPercentPerFlow }: FlowControlLimits): number =>
  Math.max(1, Math.floor((seats * seatPercentPerFlow) / 100));
