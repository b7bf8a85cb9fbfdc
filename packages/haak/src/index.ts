export { AgentRunner, type AgentRunnerOptions } from "./gateway/agent-runner.ts";
export type { Haak, InitializedSession } from "./gateway/haak.ts";
export type { Emit, HaakEvent, NumberedEvent } from "./gateway/protocol.ts";
export {
  CloseParams,
  HaakError,
  type HaakErrorCode,
  InitParams,
  parseParams,
  RunParams,
  SessionParams,
} from "./gateway/protocol.ts";
export { Board } from "./mail/board.ts";
export type { MailboxMessage } from "./mail/mail-file.ts";
export { haakMessaging, Mailbox } from "./mail/mailbox.ts";
export { SharedFileError } from "./mail/shared-file.ts";
export { mailTables } from "./mail/tables.ts";
export type { HistoryRow, SessionRow, TurnRow } from "./views/views.ts";
export { HaakViews } from "./views/views.ts";
