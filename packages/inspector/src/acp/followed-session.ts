import type { Question } from "./connection.ts";
import { saidIn } from "./conversation/content.ts";
import {
  type Conversation,
  type HeardUpdate,
  NOTHING_SAID,
  withNote,
  withUpdates,
} from "./conversation/conversation.ts";
import { settingsIn } from "./conversation/settings.ts";
import { Observable, type Schedule } from "./observable.ts";

/** A prompt that is queued, or that was lost with the connection. */
export interface WaitingPrompt {
  readonly id: string;
  readonly text: string;
  /** `unsure`: the connection was lost before its turn started; the server may or may not have it. */
  readonly state: "sent" | "unsure";
}

export type TurnState = "running" | "idle";

/** The state of a session on this page. */
export interface SessionView {
  readonly conversation: Conversation;
  readonly questions: readonly Question[];
  readonly waiting: readonly WaitingPrompt[];
  /** The prompts of this page whose turn is running. */
  readonly running: readonly string[];
  /** The last turn state that the server sent; undefined before the first. */
  readonly turn: TurnState | undefined;
  /** Counts events that change the session's record on the server. */
  readonly changes: number;
  /** `loading`: the history is being replayed; `cut`: the connection is lost and the session will be loaded again. */
  readonly phase: "taking_up" | "live" | "cut" | "failed";
  readonly error: unknown;
}

/** The state before anything is loaded. */
const UNKNOWN: SessionView = {
  conversation: NOTHING_SAID,
  questions: [],
  waiting: [],
  running: [],
  turn: undefined,
  changes: 0,
  phase: "taking_up",
  error: undefined,
};

export interface FollowedSessionParts {
  readonly schedule: Schedule;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * A session that this page is attached to. Updates are batched per frame. While the history is replayed, the page keeps
 * showing the previous state; then the replayed state replaces it, so that nothing is missing or duplicated.
 */
export class FollowedSession {
  readonly id: string;
  /** Whether the session has ended permanently and is read-only. */
  isOver = false;
  readonly view = new Observable<SessionView>(UNKNOWN);
  readonly #parts: FollowedSessionParts;
  #heard: HeardUpdate[] = [];
  /** The replayed updates, during a replay. */
  #retold: HeardUpdate[] | undefined;
  /** The last turn state received. */
  #turn: TurnState | undefined;
  #isScheduled = false;

  constructor(id: string, parts: FollowedSessionParts) {
    this.id = id;
    this.#parts = parts;
  }

  /** Starts a replay of the whole history. */
  takeUp(): void {
    this.#retold = [];
    this.#heard = [];
    this.#change({ phase: "taking_up", error: undefined, questions: [] });
  }

  /**
   * Ends the replay. `answer` has the current settings, which override replayed ones; `isOnItsWay` tells which prompts
   * were sent over the current connection.
   */
  takenUp(answer: unknown, isOnItsWay: (prompt: string) => boolean = () => false): void {
    const heard = this.#retold ?? [];
    this.#retold = undefined;
    const now = settingsIn(answer);
    const told = withUpdates({ ...NOTHING_SAID, settings: now }, heard);
    const conversation = now.length > 0 ? { ...told, settings: now } : told;
    const begun = promptsIn(heard);
    const waiting = this.#view.waiting.filter(({ id }) => !begun.has(id));
    this.#change({
      conversation,
      phase: "live",
      waiting: waiting.map((prompt) => (isOnItsWay(prompt.id) ? prompt : { ...prompt, state: "unsure" })),
      running: [...begun].filter(isOnItsWay),
    });
    this.#showTurn();
  }

  /** Marks a new session as loaded; it has no history. */
  begun(answer: unknown): void {
    this.#flush();
    const { conversation } = this.#view;
    this.#change({ phase: "live", conversation: { ...conversation, settings: settingsIn(answer) } });
  }

  failed(error: unknown): void {
    this.#retold = undefined;
    this.#change({ phase: "failed", error });
  }

  /** Handles a lost connection. */
  cut(): void {
    this.#retold = undefined;
    this.#flush();
    this.#change({ phase: "cut", questions: [] });
  }

  hear(update: HeardUpdate["update"]): void {
    if (this.#retold) {
      this.#retold.push({ update, at: undefined });
      return;
    }
    this.#heard.push({ update, at: this.#parts.now() });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#parts.schedule(() => this.#flush());
  }

  /** Updates the turn state of other clients. During a replay only the last one counts. */
  turn(state: TurnState): void {
    this.#turn = state;
    if (!this.#retold) this.#showTurn();
  }

  /** Replaces the settings. */
  chosen(answer: unknown): void {
    const settings = settingsIn(answer);
    const { conversation } = this.#view;
    const kept = conversation.settings.filter(({ isMode }) => isMode);
    if (settings.length > 0)
      this.#change({ conversation: { ...conversation, settings: [...kept, ...settings] } });
  }

  /** Appends a note of the page itself. */
  note(tone: "note" | "warn" | "bad", text: string): void {
    this.#flush();
    this.#change({ conversation: withNote(this.#view.conversation, tone, text) });
  }

  /** Marks the session as ended. */
  end(): void {
    this.isOver = true;
    this.#flush();
    this.#turn = "idle";
    this.#change({ questions: [], waiting: [], running: [], turn: "idle", changes: this.#view.changes + 1 });
  }

  ask(question: Question): void {
    this.#change({ questions: [...this.#view.questions, question] });
  }

  withdraw(id: string): void {
    this.#change({ questions: this.#view.questions.filter((question) => question.id !== id) });
  }

  /** Adds a sent prompt to the queue. */
  sent(id: string, text: string): void {
    this.#change({ waiting: [...this.#view.waiting, { id, text, state: "sent" }] });
  }

  /** Removes a prompt that was answered or cancelled. */
  answered(id: string): void {
    this.#flush();
    this.#change({
      waiting: this.#view.waiting.filter((prompt) => prompt.id !== id),
      running: this.#view.running.filter((prompt) => prompt !== id),
    });
  }

  get #view(): SessionView {
    return this.view.current();
  }

  #change(changed: Partial<SessionView>): void {
    this.view.set({ ...this.#view, ...changed });
  }

  #showTurn(): void {
    const { turn, changes } = this.#view;
    if (this.#turn === turn) return;
    this.#flush();
    this.#change({ turn: this.#turn, changes: changes + 1 });
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#heard.length === 0) return;
    const heard = this.#heard;
    this.#heard = [];
    const { conversation, waiting, running, changes } = this.#view;
    const begun = promptsIn(heard);
    const mine = waiting.filter(({ id }) => begun.has(id)).map(({ id }) => id);
    this.#change({
      conversation: withUpdates(conversation, heard),
      ...(heard.some(isRenamed) && { changes: changes + 1 }),
      ...(mine.length > 0 && {
        waiting: waiting.filter(({ id }) => !begun.has(id)),
        running: [...running, ...mine],
      }),
    });
  }
}

function isRenamed({ update }: HeardUpdate): boolean {
  return update.sessionUpdate === "session_info_update";
}

/** The ids of the prompts whose turn has started according to the updates. */
function promptsIn(heard: readonly HeardUpdate[]): ReadonlySet<string> {
  const named = heard.flatMap(({ update }) =>
    update.sessionUpdate === "user_message_chunk" ? (saidIn(update)?.prompt ?? []) : [],
  );
  return new Set(named);
}
