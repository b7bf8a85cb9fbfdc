/** How much mail there may be. */
export interface MailLimits {
  /** The largest mailbox that is read, and that sending makes. */
  readonly maxFileBytes: number;
  /** The longest line that is read; what is longer is passed over and reported. */
  readonly maxLineBytes: number;
  /** The longest text that can be sent. */
  readonly maxBodyBytes: number;
  /** The longest subject, and the longest name of a sender or receiver, that can be sent. */
  readonly maxHeaderBytes: number;
  /** How many messages are put into one turn; the others stay unread. */
  readonly perTurn: number;
  /** How long all texts of one turn may be together; one message always fits. */
  readonly perTurnBytes: number;
  /** How many characters of a text are put into a turn. Only others can write longer ones. */
  readonly shownCharacters: number;
}

/** As much as an agent can take in, and a newcomer will not notice. */
export const MAIL_LIMITS: MailLimits = {
  maxFileBytes: 32 << 20,
  maxLineBytes: 256 << 10,
  maxBodyBytes: 16 << 10,
  maxHeaderBytes: 1 << 10,
  perTurn: 16,
  perTurnBytes: 64 << 10,
  shownCharacters: 16 << 10,
};
