import type { WorkerDetails } from "@reins/bridge";
import type { JsonObject } from "../acp/json-rpc.ts";

/** A message of another agent. */
export interface Mail {
  readonly from: string;
  readonly subject: string;
  readonly body: string;
  readonly timestamp: string;
}

/** The mail of the agent that a session belongs to. */
export interface MailService {
  send(
    sessionId: string,
    message: { readonly to: string; readonly subject: string; readonly body: string },
  ): Promise<void>;
  unread(sessionId: string): Promise<readonly Mail[]>;
}

/** The board on which everybody leaves word. */
export interface BoardService {
  /** The last lines, oldest first. */
  read(sessionId: string, lines: number): Promise<readonly string[]>;
  /** Posts in the name of the session's agent. */
  post(sessionId: string, content: string): Promise<void>;
}

/** What a subagent is to do. */
export interface SubagentTask {
  /** The session that wants it. */
  readonly sessionId: string;
  readonly prompt: string;
  /** The real folder it works in. */
  readonly workingDir: string;
  /** The agent it is given to; by default the one that gives it. */
  readonly agent?: string | undefined;
  /** The only tools it may use; all that policy leaves it when absent. */
  readonly tools?: readonly string[] | undefined;
  /** How much it may use; what is left out has a default of the host's. */
  readonly allowance?: { readonly calls?: number | undefined; readonly tokens?: number | undefined };
  /** Told how it is doing, and what is learned of it, such as its session. */
  readonly onProgress: (details: WorkerDetails, event?: "WorkerProgressed" | "WorkerWaitingForInput") => void;
}

/** Where governed children are started. */
export interface SubagentService {
  /** What the child said in the end. The signal aborts when its time is over. */
  run(task: SubagentTask, signal: AbortSignal): Promise<string>;
}

/** A tool that the client of a session brings along. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  /** What it takes, as a JSON Schema. */
  readonly parameters: JsonObject;
}

/** What the clients of sessions carry out themselves. */
export interface ClientToolService {
  /** The tools that the client of a session offers in the turn that begins. */
  offered(sessionId: string): readonly ClientTool[];
  /** Has the client carry one out. The signal aborts with the turn. */
  call(
    sessionId: string,
    name: string,
    input: unknown,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly isError: boolean }>;
}

/** What a host lends its sessions. A tool whose service is not there is not offered. */
export interface HostServices {
  /** What clients call a session, where that is not what the agent calls it. */
  readonly nameOf?: (sessionId: string) => string;
  /** Whether a session may read a file, from its working folder on or absolute, without anybody being asked; any if absent. */
  readonly mayRead?: (sessionId: string, path: string) => Promise<boolean>;
  readonly mail?: MailService;
  readonly board?: BoardService;
  readonly subagents?: SubagentService;
  readonly clientTools?: ClientToolService;
}
