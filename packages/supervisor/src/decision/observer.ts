import type { Subject } from "@reins/policy";
import type { Usage, Use } from "../limits/tables.ts";
import type { Decided, DecisionRequest } from "./decision.ts";

/** Receives what happens, for counts and traces. Must be quick, and must not throw. */
export interface SupervisorObserver {
  /** Called with each verdict, the milliseconds it took, without the time that people took, and what it is about. */
  readonly decided: (decided: Decided, ms: number, request: DecisionRequest) => void;
  /** Called with each call that ended. */
  readonly settled?: (settled: SettledCall) => void;
  readonly turnStarted?: (turn: StartedTurn) => void;
  /** Called with what a turn used, as far as its agent reported it, and how it ended, where it is one of the host's. */
  readonly turnEnded: (usage: Partial<Usage>, turn?: EndedTurn) => void;
}

/** An allowed call whose end was not reported yet. */
export interface OpenCall {
  /** The content id of its verdict. */
  readonly entry: string;
  readonly tool: string;
  readonly event_type: string;
  readonly uses: readonly Use[];
  readonly at: number;
  /** Whether it holds a reservation, which only its own end releases. */
  readonly isReserved?: boolean;
}

/** Identifies the call that ended: by the entry of its verdict, else the oldest that matches. */
export interface CallEnd {
  readonly event_type: string;
  readonly entry?: string | undefined;
  readonly tool?: string | undefined;
  /** How it ended, and the tokens of a request to a model: for observers. */
  readonly outcome?: string | undefined;
  readonly tokens?: RequestTokens | undefined;
}

/** A call that ended; `call` is absent where no allowed call matches. */
export interface SettledCall {
  readonly subject: Subject;
  readonly call: OpenCall | undefined;
  readonly end: CallEnd;
  readonly usage: Partial<Usage>;
}

/** A turn of the host that begins. */
export interface StartedTurn {
  readonly id: string;
  readonly session: string;
  /** The session whose agent started that session, if one did. */
  readonly parent?: string | undefined;
  readonly agent: string;
  /** The `_meta` of its prompt, as its client sent it. */
  readonly meta: unknown;
}

export interface EndedTurn {
  readonly id: string;
  readonly stop_reason: string;
  /** The tokens that its agent reported, by kind, in snake_case. */
  readonly tokens: Readonly<Record<string, number>>;
}

/** The tokens of a request to a model, by kind. */
export interface RequestTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly thoughtTokens?: number | undefined;
  readonly cachedReadTokens?: number | undefined;
  readonly cachedWriteTokens?: number | undefined;
}
