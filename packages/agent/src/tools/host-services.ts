import type { JsonObject } from "@reins/acp";
import type { BridgeMethod, BridgePort, WorkerDetails } from "@reins/bridge";
import type { SkillService } from "../skills/session-skills.ts";
import type { WebService } from "./fetch-page.ts";

/** A message of another agent. */
export interface Mail {
  readonly from: string;
  readonly subject: string;
  readonly body: string;
  readonly timestamp: string;
}

/** The mailbox of a session's agent. */
export interface MailService {
  send(
    sessionId: string,
    message: { readonly to: string; readonly subject: string; readonly body: string },
  ): Promise<void>;
  unread(sessionId: string): Promise<readonly Mail[]>;
}

/** The shared board. */
export interface BoardService {
  /** The last lines, oldest first. */
  read(sessionId: string, lines: number): Promise<readonly string[]>;
  /** Posts in the name of the session's agent. */
  post(sessionId: string, content: string): Promise<void>;
}

/** A git worktree for a subagent, of the repository whose top is its working folder. */
export interface WorktreeTask {
  /** The commit to start from; `HEAD` by default. */
  readonly base_ref?: string | undefined;
  /** Part of its branch's name, which is unique. */
  readonly branch?: string | undefined;
  /** Whether it is removed when nothing was changed in it, the default, or kept. */
  readonly cleanup?: "remove" | "keep" | undefined;
}

/** A task for a subagent. */
export interface SubagentTask {
  /** The parent session. */
  readonly sessionId: string;
  readonly prompt: string;
  /** The turn of the parent that it belongs to. */
  readonly turn?: SnapshotTurn | undefined;
  /** The worker that clients of the parent see. */
  readonly worker?: string | undefined;
  /** The real folder it works in. */
  readonly workingDir: string;
  /** The worktree that is made for it, and that it works in instead. */
  readonly worktree?: WorktreeTask | undefined;
  /** The agent that runs it; the session's own by default. */
  readonly agent?: string | undefined;
  /** The only tools it may use; all that policy permits when absent. */
  readonly tools?: readonly string[] | undefined;
  /** Limits of its usage; the host has defaults. */
  readonly allowance?: {
    readonly calls?: number | undefined;
    readonly tokens?: number | undefined;
    readonly cost?: number | undefined;
  };
  /** Receives the progress, and details such as the child's session once they are known. */
  readonly onProgress: (details: WorkerDetails, event?: "WorkerProgressed" | "WorkerWaitingForInput") => void;
}

/** Starts subagents as governed sessions. */
export interface SubagentService {
  /** Returns the child's last message. The signal aborts on timeout. */
  run(task: SubagentTask, signal: AbortSignal): Promise<string>;
}

/** A tool that the client of a session provides. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema. */
  readonly parameters: JsonObject;
}

/** Runs tools in the clients of sessions. */
export interface ClientToolService {
  /** The tools of a session's client for the turn that starts. */
  offered(sessionId: string): readonly ClientTool[];
  /** The signal aborts with the turn. */
  call(
    sessionId: string,
    name: string,
    input: unknown,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly isError: boolean }>;
}

/** A message of a model that has ended: what it says, and the calls that its provider's protocol carries. */
export interface DeclaringMessage {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  /** Whether it ended by itself; one that was cut off declares nothing. */
  readonly isComplete: boolean;
}

/** What a message means once the runtime has carried out what it declares. */
export type Declared =
  /** It declares nothing, or answers, or ends the turn: people are shown the text, and the turn is over. */
  | { readonly kind: "over"; readonly text: string }
  /** A run has come to a point where the model decides, or a declaration was refused: it is asked again. */
  | { readonly kind: "again" };

/** Action graphs: the model declares what it wants done, and the host's runtime does it under verdicts of its own. */
export interface ProtocolService {
  /** The one tool that the model is offered, and the instructions for the protocol, with the executors there are. */
  describe(sessionId: string): Promise<{ readonly tool: ClientTool; readonly instructions: string }>;
  /** Adds a request of the user to the transcript of a session. */
  begin(sessionId: string, text: string): Promise<void>;
  /**
   * The transcript of a session: all that the model is shown beside the system prompt. With `unseen` only the turns that
   * were added, or whose run has changed, since the last message was declared, without the model's own words: for
   * an agent that keeps its own history. It has at most so many characters, where that is known.
   */
  transcript(
    sessionId: string,
    options?: { readonly unseen?: boolean; readonly most?: number },
  ): Promise<string>;
  /** Reads a message and carries out what it declares, up to the next point where the model decides. */
  declare(sessionId: string, message: DeclaringMessage, signal: AbortSignal): Promise<Declared>;
}

/** Puts questions to the person in front of a session. */
export interface PersonService {
  /** Resolves with the answer to a form, as ACP has it. Withdrawn when the signal aborts. */
  ask(
    sessionId: string,
    question: { readonly message: string; readonly requestedSchema: JsonObject },
    signal: AbortSignal,
  ): Promise<unknown>;
}

/** A turn in which files are changed. */
export interface SnapshotTurn {
  readonly id: string;
  /** When it began, RFC 3339. */
  readonly at: string;
  /** The beginning of the prompt. */
  readonly prompt: string;
}

/** What is about to be done to an entry of the workspace. */
export interface EntryChange {
  /** Where it really lies. */
  readonly path: string;
  /** The text that it is to hold; absent when it is removed, a folder with all that is in it. */
  readonly content?: string;
}

/** Keeps what files were before they are changed. */
export interface SnapshotService {
  /** Changes an entry after what is there was kept. Rejects, and changes nothing, where that cannot be recorded. */
  change<Result>(
    sessionId: string,
    turn: SnapshotTurn,
    change: EntryChange,
    run: () => Promise<Result>,
  ): Promise<Result>;
}

/** What a host offers to sessions. A tool whose service is absent is not offered. */
export interface HostServices {
  /** Keeps what the files of a session were before a turn changed them; absent where nothing is kept. */
  readonly snapshots?: SnapshotService;
  /** The client's id of a session, where it differs from the agent's. */
  readonly nameOf?: (sessionId: string) => string;
  /** The worker that a session is, where another session started it. */
  readonly workerOf?: (sessionId: string) => string | undefined;
  /**
   * Whether a search that was decided may show a file, by absolute path or relative to the working folder; any file if
   * absent. It only narrows the search: it is a dry run of the policy, and no permission to read anything else.
   */
  readonly mayRead?: (sessionId: string, path: string) => Promise<boolean>;
  readonly person?: PersonService;
  readonly mail?: MailService;
  readonly board?: BoardService;
  readonly subagents?: SubagentService;
  readonly web?: WebService;
  readonly clientTools?: ClientToolService;
  readonly protocol?: ProtocolService;
  /** The skills of folders. */
  readonly skills?: SkillService;
  /** Whether a client of a session offers a method of the bridge; asked if absent. */
  readonly offersBridge?: (sessionId: string, method: BridgeMethod) => boolean;
  /** The client of each session that lends tools and skills; without one, calls reject with `no_host`. */
  readonly bridge?: BridgePort;
}
