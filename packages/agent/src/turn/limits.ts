/** How far one turn may go. */
export interface TurnLimits {
  /** Requests to the model. */
  readonly requests: number;
  /** After how many requests somebody is asked whether to go on. */
  readonly confirmEvery: number;
  /** Times that a request which failed is made again. */
  readonly retries: number;
  /** Characters that the model may say or think at once. */
  readonly answerCharacters: number;
  /** Calls that the model may make at once. */
  readonly callsAtOnce: number;
  /** Characters of a result that the model is told, and clients are shown. */
  readonly resultCharacters: number;
  /** How long a model may be silent in the middle of an answer. */
  readonly quietMs: number;
  /** The first wait before a request is made again; each further one is twice as long. */
  readonly backoffMs: number;
  /** The longest wait that a model may ask for, unless the supervisor says otherwise. */
  readonly longestWaitMs: number;
  /** How long a session is left alone before anything is done for it in the background. */
  readonly idleMs: number;
}

/** As far as a person in front of it will want it to go. */
export const TURN_LIMITS: TurnLimits = {
  requests: 100,
  confirmEvery: 50,
  retries: 4,
  answerCharacters: 1 << 20,
  callsAtOnce: 32,
  resultCharacters: 64 * 1024,
  quietMs: 120_000,
  backoffMs: 500,
  longestWaitMs: 60_000,
  idleMs: 30_000,
};
