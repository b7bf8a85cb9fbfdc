export type { ToolView } from "@reins/agent";
export { notApplied } from "@reins/bridge";
export { logInToServer, loginAddress, loginHeader } from "@reins/mcp";
export { type Killed, KillOrder, KillReport, memoryOf } from "@reins/runner";
export type { CommandService } from "./commands/command-service.ts";
export {
  agentInstall,
  agentRemoval,
  type CallerChange,
  type GovernedInstall,
  governCaller,
} from "./control/caller-scope.ts";
export { isPreparationRecord } from "./control/control-point.ts";
export type { Door } from "./control/doors.ts";
export { OPERATION_DOORS } from "./control/operation-doors.ts";
export { REFUSED } from "./control/outcome.ts";
export type { ToolGate } from "./control/tool-offer.ts";
export type { FileCaller } from "./files/caller-access.ts";
export { FileFault } from "./files/file-fault.ts";
export type { FileService, FoundEntry, ReadableFile } from "./files/file-service.ts";
export type { GovernedSession } from "./governor/governed-session.ts";
export type { SessionFolders } from "./governor/session-folders.ts";
export { isFinal, type ToolCall, ToolCalls } from "./governor/tool-calls.ts";
export { toolNameOf } from "./governor/tool-name.ts";
export type { HostedAgent } from "./hosting/agent-host.ts";
export { Hosting, type HostingOptions, type InstallGovernor } from "./hosting/hosting.ts";
export { type GatewayUse, ModelAccess } from "./hosting/model-access.ts";
export { hostTables } from "./hosting/tables.ts";
export { type Answered, Connection, Conversation } from "./hub/connection.ts";
export { type AgentMethods, modelsOf } from "./hub/extensions.ts";
export { channelOf, type Feed, GAP, type Outlet } from "./hub/feed.ts";
export { type ConnectOptions, Hub } from "./hub/hub.ts";
export { serveChannel, takeMessage } from "./hub/serve-channel.ts";
export { agentIn } from "./hub/start-session.ts";
export type { Kills } from "./kill/kills.ts";
export { settled } from "./log/backlog.ts";
export type { EventLog } from "./log/event-log.ts";
export type { Cursor, Gap, LoggedEvent } from "./log/logged-event.ts";
export { readWritten } from "./log/logged-event.ts";
export type { Subscription } from "./log/subscription.ts";
export { logTables } from "./log/tables.ts";
export { SealedLogins } from "./mcp/sealed-logins.ts";
export { listPins, resetPins } from "./mcp/tool-pins.ts";
export { familyAnswers, userMemory } from "./native/advisers.ts";
export type { NativeSettings } from "./native/start-native.ts";
export { FileSnapshots } from "./rewind/file-snapshots.ts";
export type { Rewindable, RewindOutcome, RewindRequest, Rewinds, RewindTimeline } from "./rewind/rewind.ts";
export { newSessionRecord } from "./sessions/new-session.ts";
export { QUEUE_FULL, type Session, TURN_ENDED, TURN_OVER, TurnQueue, turnsOf } from "./sessions/session.ts";
export { questionId, questionIn } from "./sessions/session-clients.ts";
export {
  SESSION_MODES,
  type SessionMode,
  type SessionRecord,
  type SessionState,
} from "./sessions/session-record.ts";
export { sessionTables } from "./sessions/tables.ts";
export { grantSkill, revokeSkill, SkillLibrary, type SkillSettings } from "./skills/skill-library.ts";
export { verifyAgent } from "./trial/governed-trial.ts";
export {
  type BoardExcerpt,
  type Messaging,
  NO_MAIL,
  type TenantMessaging,
  type TurnMail,
} from "./turn/messaging.ts";
export type { ClientTool, ClientToolOutcome, TurnOffers } from "./turn/turn-offers.ts";
export type { Passing, WireTap } from "./wire/agent-channel.ts";
