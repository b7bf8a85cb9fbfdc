export {
  exactNumber,
  isSpelledNumber,
  JsonError,
  type JsonFault,
  type ParsedJson,
  parseExact,
  parseJson,
  type SpelledNumber,
} from "@reins/kit";
export type { CallLimits } from "./client/client.ts";
export { AhpClient, type ClientOptions, type FullEvent } from "./client/client.ts";
export type { CallOptions, ClientTransport, ReconnectOptions, SendRequest } from "./client/transport.ts";
export {
  AhpError,
  type AhpErrorCode,
  type AhpErrorOptions,
  type RefusalDetails,
  type RefusalReason,
  RPC,
} from "./errors.ts";
export {
  ConfirmationDecision,
  ContextPerceptionDecision,
  Decision,
  FileContentSnippet,
  IdleDecision,
  InjectedContext,
  IntentDetectionDecision,
  MemoryRecallDecision,
  PlanningDecision,
  ProjectSummary,
  RateLimitDecision,
  ReasoningDecision,
  TargetHints,
} from "./protocol/decisions.ts";
export {
  AhpEvent,
  type BlockingEventType,
  CONTRACT_EVENT_TYPES,
  type ContractEventType,
  EventContext,
  EventType,
  Fact,
  type FireAndForgetEventType,
  GENERIC_EVENT_TYPES,
  type GenericEventType,
  isBatchable,
  isBlocking,
  isContract,
  isSpecialised,
  MemorySummary,
  SessionStats,
  SPECIALISED_EVENT_TYPES,
  type SpecialisedEventType,
} from "./protocol/event.ts";
export {
  ArtifactRef,
  closedDecision,
  DECISIONS,
  type DecisionFor,
  type Decisions,
  EvidenceRef,
  PAYLOADS,
  type PayloadFor,
  type Payloads,
  RunLifecycleEvent,
  RunStatus,
  TaskItem,
  TaskListEvent,
  TaskStatus,
  VerificationCheck,
  VerificationEvent,
  VerificationStatus,
} from "./protocol/families.ts";
export {
  AgentInfo,
  AhpNotification,
  AhpRequest,
  AhpResponse,
  AuthConfig,
  AuthMethod,
  BatchRequest,
  BatchResponse,
  HandshakeRequest,
  HandshakeResponse,
  HarnessConfig,
  HarnessInfo,
  type Method,
  PROTOCOL_VERSION,
  QueryRequest,
  QueryResponse,
  RpcError,
  TransportConfig,
} from "./protocol/messages.ts";
export {
  ConfirmationEvent,
  ConfirmationType,
  HeartbeatEvent,
  IdleEvent,
  IntentDetectionEvent,
  MemoryRecallEvent,
  PlanningEvent,
  PlanningStrategy,
  RateLimitEvent,
  RateLimitType,
  ReasoningEvent,
  ReasoningType,
  SuccessEvent,
} from "./protocol/payloads.ts";
export {
  ContextPerceptionEvent,
  HistoryItem,
  PerceptionConstraints,
  PerceptionContext,
  PerceptionDomain,
  PerceptionFreshness,
  PerceptionIntent,
  PerceptionModality,
  PerceptionTarget,
  PerceptionUrgency,
  TimeRange,
} from "./protocol/perception.ts";
export type {
  Awaitable,
  Call,
  EventCall,
  Handlers,
  Peer,
  SpecialisedHandlers,
  TransportName,
} from "./server/handlers.ts";
export { AhpServer, type Outcome, type ServerOptions } from "./server/server.ts";
export type { Session } from "./server/sessions.ts";
export {
  type Authenticator,
  type Credential,
  credentialInHeaders,
  knownTokens,
  type OriginRules,
  originFault,
  type Token,
  upgradeCredential,
} from "./transport/auth.ts";
export { listening, type Served } from "./transport/connection.ts";
export {
  hangUp,
  type RefusalBody,
  type RefusalText,
  SESSION_HEADER,
} from "./transport/http/listener.ts";
export {
  type Admitted,
  type HttpMount,
  type HttpOptions,
  type MountOptions,
  mountHttp,
  serveHttp,
} from "./transport/http/serve.ts";
export type { Limits } from "./transport/limits.ts";
export { type OpenOptions, openTransport, type Transport } from "./transport/open.ts";
export { type StdioOptions, serveStdio } from "./transport/stdio.ts";
export { listenOnSocket, serveUnix, type UnixOptions } from "./transport/unix.ts";
export { DecodeError, decode, isObject } from "./wire/decode.ts";
export { encode } from "./wire/encode.ts";
