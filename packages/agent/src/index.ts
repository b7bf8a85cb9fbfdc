export { Advisor, type AdvisorOptions } from "./advisor/advisor.ts";
export type { ChargedUsage, ControlCall, ControlPort, NativeAgentOptions } from "./agent-dependencies.ts";
export type { DecisionEvents, DecisionEventType, ReportEvents, ReportEventType } from "./control/events.ts";
export { Roots } from "./files/roots.ts";
export type { OpenedFile } from "./files/workspace-files.ts";
export { type ConversationTurn, conversationTurns } from "./history/entry.ts";
export { FileSessionStore } from "./history/file-store.ts";
export type { KnownModel, Price } from "./models/model.ts";
export { modelConfigFrom, modelsFrom, type Prices } from "./models/models.ts";
export { NativeAgent } from "./native-agent.ts";
export type { ConversationRewind } from "./sessions/session.ts";
export type { FoundSkills, SkillService } from "./skills/session-skills.ts";
export { allTools } from "./tools/all-tools.ts";
export type { FetchedPage, WebService } from "./tools/fetch-page.ts";
export type {
  ClientTool,
  Declared,
  DeclaringMessage,
  EntryChange,
  HostServices,
  ProtocolService,
  SnapshotService,
  SnapshotTurn,
  SubagentService,
  SubagentTask,
  WorktreeTask,
} from "./tools/host-services.ts";
export { McpServers } from "./tools/mcp-servers.ts";
export {
  type CommandRun,
  type CommandRunner,
  commandEnvironment,
  SystemCommands,
} from "./tools/run-command.ts";
export type { ProgramEnd } from "./tools/run-program.ts";
export type { Tool, ToolContext, ToolView } from "./tools/tool.ts";
export type { ToolSearchSettings } from "./tools/tool-search.ts";
