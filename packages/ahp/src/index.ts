export type { CallLimits } from "./client/calls.ts";
export { AhpClient, type EventResult, type FullEvent } from "./client/client.ts";
export type { ClientOptions } from "./client/options.ts";
export type { ReconnectOptions } from "./client/reconnect.ts";
export type { CallOptions, ClientTransport, SendRequest } from "./client/transport.ts";
export { AhpError, type AhpErrorCode, type AhpErrorOptions } from "./errors/ahp-error.ts";
export { type RefusalDetails, type RefusalReason, RPC } from "./errors/rpc.ts";
export { JsonError, type JsonFault } from "./json/json-error.ts";
export { exactNumber, isSpelledNumber, type SpelledNumber } from "./json/number.ts";
export { type ParsedJson, parseExact, parseJson } from "./json/parse.ts";
export { closedDecision } from "./protocol/closed-decision.ts";
export { EventContext, Fact, MemorySummary, SessionStats } from "./protocol/context.ts";
export {
  ArtifactRef,
  EvidenceRef,
  RunLifecycleEvent,
  RunStatus,
  TaskItem,
  TaskListEvent,
  TaskStatus,
  VerificationCheck,
  VerificationEvent,
  VerificationStatus,
} from "./protocol/contracts.ts";
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
export { AhpNotification, AhpRequest, AhpResponse, RpcError } from "./protocol/envelope.ts";
export { AhpEvent } from "./protocol/event.ts";
export {
  type BlockingEventType,
  CONTRACT_EVENT_TYPES,
  type ContractEventType,
  EventType,
  type FireAndForgetEventType,
  GENERIC_EVENT_TYPES,
  type GenericEventType,
  isBatchable,
  isBlocking,
  isContract,
  isSpecialised,
  SPECIALISED_EVENT_TYPES,
  type SpecialisedEventType,
} from "./protocol/event-type.ts";
export {
  DECISIONS,
  type DecisionFor,
  type Decisions,
  PAYLOADS,
  type PayloadFor,
  type Payloads,
} from "./protocol/families.ts";
export {
  AgentInfo,
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
} from "./protocol/methods.ts";
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
export { AuthConfig, AuthMethod, TransportConfig } from "./protocol/transport-config.ts";
export type { Awaitable, Call, EventCall, Handlers, SpecialisedHandlers } from "./server/handlers.ts";
export type { ServerOptions } from "./server/options.ts";
export type { Peer, TransportName } from "./server/peer.ts";
export { AhpServer, type Outcome } from "./server/server.ts";
export type { Session } from "./server/sessions.ts";
export { type Authenticator, knownTokens, type Token } from "./transport/auth/authenticator.ts";
export { type Credential, credentialInHeaders, upgradeCredential } from "./transport/auth/credential.ts";
export { type OriginRules, originFault } from "./transport/auth/origin.ts";
export { readBody } from "./transport/http/body.ts";
export { hangUp } from "./transport/http/hang-up.ts";
export { SESSION_HEADER } from "./transport/http/listener.ts";
export { type Admitted, type HttpMount, type MountOptions, mountHttp } from "./transport/http/mount.ts";
export type { RefusalBody, RefusalText } from "./transport/http/refusal.ts";
export { type HttpOptions, serveHttp } from "./transport/http/serve.ts";
export type { Limits } from "./transport/limits.ts";
export { listening } from "./transport/listening.ts";
export { type OpenOptions, openTransport, type Transport } from "./transport/open.ts";
export type { Served } from "./transport/served.ts";
export { type StdioOptions, serveStdio } from "./transport/stdio/serve.ts";
export { listenOnSocket } from "./transport/unix/listen.ts";
export { serveUnix, type UnixOptions } from "./transport/unix/serve.ts";
export { decode, encode } from "./wire/codec.ts";
export { DecodeError } from "./wire/decode-error.ts";
export { isObject } from "./wire/decoder.ts";
