export { RequestError } from "@agentclientprotocol/sdk";
export type {
  Agent,
  Approval,
  ApprovalChange,
  FileEntry,
  FileStat,
  PlacedEntry,
  RewindReport,
  RewindTurn,
  RewindTurns,
  Run,
  RunGraph,
  Session as SessionRecord,
  StartRun,
} from "@reins/api";
export type {
  ElicitationAnswer,
  ElicitationRequest,
  PermissionAnswer,
  PermissionRequest,
} from "./acp-connection.ts";
export type { AgentsClient } from "./agents.ts";
export type { ApprovalDecision, ApprovalsClient } from "./approvals.ts";
export { connect, type ReinsClient, type ReinsClientOptions } from "./connect.ts";
export { ApiError, ConnectionError, InterruptedError, LedgerProofError } from "./errors.ts";
export type { FileContent, FileDownload, FilesClient } from "./files.ts";
export type { CheckpointStore, KeptCheckpoint, LedgerClient } from "./ledger.ts";
export { type RpcStreamOptions, rpcStream } from "./rpc-stream.ts";
export type { RunsClient } from "./runs.ts";
export type { ConversationEvent, Verdict } from "./session-events.ts";
export type { NewSession, RewindOptions, Session, Sessions } from "./sessions.ts";
export type { PromptContent, PromptEvent, Turn, TurnResult } from "./turn.ts";
