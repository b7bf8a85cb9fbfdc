export type { JsonObject } from "./acp/message.ts";
export type { AgentPort } from "./acp/port.ts";
export type { AgentParts, NativeAgentOptions } from "./agent-parts.ts";
export type { ControlCall, ControlPort } from "./control/control-port.ts";
export { DefaultControl, type DefaultControlOptions } from "./control/defaults/default-control.ts";
export { type DetectedIntent, detectIntent } from "./control/defaults/intent/detect-intent.ts";
export type { AskedEvents, AskedEventType } from "./control/events.ts";
export type { ToldEvents, ToldEventType } from "./control/told-events.ts";
export { HistoryEntry } from "./history/entry.ts";
export { FileSessionStore } from "./history/file-store.ts";
export {
  type KeptSession,
  SessionHeader,
  type SessionPage,
  type SessionQuery,
  type SessionStore,
} from "./history/session-store.ts";
export { VolatileSessionStore } from "./history/volatile-store.ts";
export type { Model, ModelEvent, ModelInfo, ModelRequest, Price } from "./models/model.ts";
export { type ModelConfig, modelConfigFrom } from "./models/model-config.ts";
export { ModelError, type ModelErrorCode } from "./models/model-error.ts";
export { type Models, modelsFrom, type Prices } from "./models/models.ts";
export { NativeAgent } from "./native-agent.ts";
export { type Clock, systemClock } from "./ports/clock.ts";
export {
  type CommandRun,
  type CommandRunner,
  commandEnvironment,
  SystemCommands,
} from "./processes/command-runner.ts";
export type { ProgramEnd } from "./processes/run-program.ts";
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
export type { Tool } from "./tools/tool.ts";
export { TURN_LIMITS, type TurnLimits } from "./turn/limits.ts";
