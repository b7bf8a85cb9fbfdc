export type { JsonObject } from "./acp/json-rpc.ts";
export type { AgentPort } from "./acp/peer.ts";
export { Advisor, type AdvisorOptions } from "./advisor/advisor.ts";
export type { AgentDependencies, NativeAgentOptions } from "./agent-dependencies.ts";
export type { ControlCall, ControlPort, ReportEvents, ReportEventType } from "./control/control-port.ts";
export type { DecisionEvents, DecisionEventType } from "./control/events.ts";
export { HistoryEntry } from "./history/entry.ts";
export { FileSessionStore } from "./history/file-store.ts";
export {
  SessionHeader,
  type SessionPage,
  type SessionQuery,
  type SessionStore,
  type StoredSession,
  VolatileSessionStore,
} from "./history/session-store.ts";
export {
  type Model,
  ModelError,
  type ModelErrorCode,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  type Price,
} from "./models/model.ts";
export { type ModelConfig, type Models, modelConfigFrom, modelsFrom, type Prices } from "./models/models.ts";
export { NativeAgent } from "./native-agent.ts";
export { type Clock, systemClock } from "./ports/clock.ts";
export { allTools } from "./tools/all-tools.ts";
export type {
  BoardService,
  ClientTool,
  ClientToolService,
  HostServices,
  Mail,
  MailService,
  SubagentService,
  SubagentTask,
} from "./tools/host-services.ts";
export {
  type CommandRun,
  type CommandRunner,
  commandEnvironment,
  SystemCommands,
} from "./tools/run-command.ts";
export type { ProgramEnd } from "./tools/run-program.ts";
export type { Tool } from "./tools/tool.ts";
export { TURN_LIMITS, type TurnLimits } from "./turn/turn.ts";
