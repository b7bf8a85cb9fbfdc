import type { Channel, JsonObject, Peer, RequestCall } from "@reins/acp";
import type { ProtocolService } from "@reins/agent";
import type { AgentEntry, AgentLaunch } from "@reins/agents";
import type { McpGateway } from "@reins/mcp";
import type { Subject } from "@reins/supervisor";
import type { Clients, SessionPort } from "../control/ask-clients.ts";
import type { ControlContext, Descent } from "../control/scope.ts";
import type { ToolPins } from "../mcp/tool-pins.ts";
import type { FileSnapshots } from "../rewind/file-snapshots.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { GovernedSession } from "./governed-session.ts";
import type { SessionFolders } from "./session-folders.ts";

/** A prompt with what belongs before it. */
export interface PreparedTurn {
  readonly prompt: readonly unknown[];
  /** What belongs into the system prompt of every request, for an agent that takes it there. */
  readonly instructions: string | undefined;
  /** What was recorded for it; it belongs to the turn. */
  readonly entries: readonly string[];
  /** Ends the turn: mail that the agent got is read, and a preamble that it got need not be said again. */
  end(outcome: {
    /** Whether the agent got the prompt and keeps it; a refused or failed one it may have thrown away. */
    readonly delivered: boolean;
    /** The most tokens that its context held in the turn; 0 where it does not report it. */
    readonly contextTokens: number;
  }): Promise<void>;
}

/** Puts something before a prompt: mail, the constitution, the mandate. */
export interface TurnPreparation {
  /** Begins to look at what a prompt may need, while it is decided; nothing follows from it unless it is composed. */
  lookAhead?(session: GovernedSession): void;
  compose(
    session: GovernedSession,
    subject: Subject,
    prompt: readonly unknown[],
    more: {
      /** What else came with the prompt. */
      readonly params: JsonObject;
      /** Whether the agent takes instructions into its system prompt. */
      readonly inSystemPrompt: boolean;
      /** How the agent declares action graphs, if it is configured for that. */
      readonly protocol?: string | undefined;
    },
  ): Promise<PreparedTurn>;
}

/** One governed agent: what enforcing its actions needs, and its channel. */
export interface GovernorContext extends ControlContext {
  readonly entry: AgentEntry;
  readonly launch: Pick<AgentLaunch, "mode" | "configOptions" | "meta" | "strip"> &
    Partial<Pick<AgentLaunch, "env">>;
  /** Which folders sessions may work in. */
  readonly folders: SessionFolders;
  readonly agent: Peer;
  /** The owner of a session that none is given for: of a trial, or of what happens outside of all sessions. */
  readonly ownerOf: (record: SessionRecord) => SessionPort;
  /** Puts the MCP gateway between an agent and its servers. */
  readonly servers?: (Pick<McpGateway, "wrap"> & Partial<Pick<McpGateway, "wrapLocal">>) | undefined;
  /** MCP servers that the operator gives each of its sessions, beside those that clients name. */
  readonly configured?: readonly unknown[] | undefined;
  /** The definitions of tools of MCP servers as they were pinned; where it is absent, none are. */
  readonly pins?: ToolPins | undefined;
  readonly preparation?: TurnPreparation | undefined;
  /** Keeps what files were before Reins changes them. */
  readonly snapshots?: Pick<FileSnapshots, "change"> | undefined;
  /** Whether the gateway counts what its calls to models use, so that its own word does not count. */
  readonly isMetered?: boolean | undefined;
  /** Carries out what the agent declares; absent where it is not configured for that, and then its text is text. */
  readonly protocol?: ProtocolService | undefined;
  /** How long an agent may take to end a turn that was cancelled. */
  readonly cancelGraceMs: number;
  /** Ends the agent, where that is possible. */
  readonly stop?: ((reason: string) => void) | undefined;
}

/** What has a default: a third-party agent, the machine's clock, folders that need no configuration, ten seconds of grace. */
type Defaulted = "folders" | "profile" | "cancelGraceMs" | "now" | "newId" | "onFault";

/** The agent and its surroundings. */
export interface GovernorOptions
  extends Omit<GovernorContext, "agent" | "ownerOf" | Defaulted>,
    Readonly<{ [Name in Defaulted]?: GovernorContext[Name] | undefined }> {
  /** The way to the agent. */
  readonly channel: Channel;
  /** Where sessions are begun from: the middle of their keys. */
  readonly from: string;
  /** The clients of a session that a call names no owner for. */
  readonly clients: (record: SessionRecord) => Clients;
  /** Receives the sessions that it governs whenever they change. */
  readonly onSessions?: ((ids: readonly string[]) => void) | undefined;
  /** Whether clients see what an agent replays when it loads a session; not where a log has it. */
  readonly showReplays?: boolean;
}

/** The circumstances of a client's request. */
export interface GovernedCall extends Pick<RequestCall, "signal"> {
  /** The session that is resumed or forked, as its owner has it; by default as it is stored. */
  readonly earlier?: SessionRecord | undefined;
  /** Registers the session of a record with its owner; by default, the governor stores it itself. */
  readonly open?: ((record: SessionRecord) => SessionPort) | undefined;
  /** Its limits, where another session begins it. */
  readonly descent?: Descent | undefined;
  /** When it was begun, where it waited for its agent; by default now. */
  readonly begun?: Date | undefined;
  /** The user who prompts. */
  readonly by?: string | undefined;
}
