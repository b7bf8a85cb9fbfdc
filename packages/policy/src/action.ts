import type { Subject } from "./subject.ts";

/** Where a path lies, seen from the session that touches it. Of several that fit, the first in this list counts. */
export const PLACES = [
  /** Where the path leads could not be found out. */
  "unknown",
  /** The harness's own files: database, keys, constitution. */
  "harness",
  /** Keys, tokens and passwords, wherever they lie. */
  "credentials",
  /** What programs run by themselves later: shell start-up files, hooks, agent settings, CI workflows. */
  "persistence",
  /** One of the session's roots. */
  "workspace",
  /** The session's own folder for passing files, and what it made itself, or would make, in the machine's. */
  "temporary",
  /** What others put into the machine's folders for passing files. */
  "shared",
  /** The rest of the user's home. */
  "home",
  /** The rest of the machine. */
  "system",
] as const;
export type Place = (typeof PLACES)[number];

/** Something an action reads. */
export interface ReadEffect {
  readonly kind: "read";
  /** Absolute, symlinks and `..` resolved, as the file system spells it; as given where that failed. */
  readonly path: string;
  readonly place: Place;
  /** The path from the session's root that holds it; absent outside of all roots. */
  readonly inside?: string;
  /** Said where what lies below the path is touched too, all of it or some that is not named. */
  readonly deep?: true;
  /** Set where the call does not name the path: it is read because it lies below a path that the call names. */
  readonly passing?: true;
}

/** Something an action changes. */
export interface WriteEffect {
  readonly kind: "write";
  readonly path: string;
  readonly place: Place;
  readonly inside?: string;
  readonly deep?: true;
  /** Whether what was there is gone afterwards. */
  readonly destroys: boolean;
  /** Of what is gone, whether git or a build can bring it back; absent where nothing is, or where a tool edits it. */
  readonly recoverable?: boolean;
}

/** A program an action runs. */
export interface ExecEffect {
  readonly kind: "exec";
  /** The program by its plain name: `git`, not `/usr/bin/git`. */
  readonly command: string;
  /** Its words after the name, as far as they are known; `null` stands for one that is computed when it runs. */
  readonly arguments: readonly (string | null)[];
  /** Whether what it does cannot be seen from its words: interpreters, build tools, unknown programs. */
  readonly opaque: boolean;
}

/** A host an action speaks to. */
export interface NetEffect {
  readonly kind: "net";
  /** Lower case, without port; `*` where it could not be found out; `service:name` for one that a program knows the way to. */
  readonly host: string;
  /** Said where it only asks what it shows: a service for its state, or a program that is developed on this machine. */
  readonly looks?: true;
}

/** One thing an action does. */
export type Effect = ReadEffect | WriteEffect | ExecEffect | NetEffect;
export type EffectKind = Effect["kind"];

/** What an agent says of its own action. It can make a verdict stricter, never looser. */
export interface Claims {
  readonly title?: string | undefined;
  readonly kind?: string | undefined;
  readonly risk?: string | undefined;
}

/**
 * What an action is, as far as the harness found out by itself. Plain data: it is stored with the verdict, so that
 * history can be decided again.
 */
export interface Action {
  /** The tool's name as the agent calls it. */
  readonly tool: string;
  readonly effects: readonly Effect[];
  /** Whether it may do more than its effects say. */
  readonly opaque: boolean;
  /**
   * Said where it is opaque for another reason than what its programs do by themselves: variables that change them, words
   * that are evaluated, unknown arguments. A rule that names programs does not cover this.
   */
  readonly unaccounted?: true;
  /** Why it is opaque or where something could not be found out, in words; empty when all is known. */
  readonly doubts: readonly string[];
  readonly claims: Claims;
  /** The tool's arguments as they came. */
  readonly arguments: unknown;
}

/** The control events that there are. The names are those of the Agent Harness Protocol. */
export const CONTROL_EVENTS = [
  "handshake",
  "pre_action",
  "post_action",
  "pre_prompt",
  "post_response",
  "session_start",
  "session_end",
  "error",
  "query",
  "heartbeat",
  "idle",
  "context_perception",
  "success",
  "memory_recall",
  "planning",
  "reasoning",
  "rate_limit",
  "confirmation",
  "intent_detection",
  "run_lifecycle",
  "task_list",
  "verification",
] as const;
type ControlEventType = (typeof CONTROL_EVENTS)[number];

/** A step of an agent that is decided on, or noted. The names are those of the Agent Harness Protocol. */
export interface ControlEvent {
  readonly event_type: ControlEventType;
  readonly session_id: string;
  readonly agent_id: string;
  readonly depth: number;
  readonly payload: unknown;
  /** What the agent sent beside it, where it speaks the protocol itself. */
  readonly timestamp?: string;
  readonly context?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** Everything a decision looks at. Plain data: it is stored with the verdict, and decides the same again. */
export interface DecisionInput {
  /** The name on record, which may be one of another version. */
  readonly event_type: string;
  readonly action: Action;
  readonly subject: Subject;
  /** What the subject did before, as far as the constitution asks; see `History`. */
  readonly counters: Counters;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** How often each sequence that the constitution names has come to pass, by its key. */
export type Counters = Readonly<Record<string, number>>;
