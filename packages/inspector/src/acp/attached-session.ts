import type { JsonObject } from "@reins/acp";
import type { Question } from "./connection.ts";
import {
  type Conversation,
  EMPTY_CONVERSATION,
  type ReceivedUpdate,
  settingsIn,
  withNote,
  withUpdates,
} from "./conversation/conversation.ts";
import { annotationIn } from "./conversation/tool-call.ts";
import { Observable, type Schedule } from "./observable.ts";

/** A prompt that is queued, or that was lost with the connection. */
export interface QueuedPrompt {
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
  readonly waiting: readonly QueuedPrompt[];
  /** The prompts of this page whose turn is running. */
  readonly running: readonly string[];
  /** The last turn state that the server sent; undefined before the first. */
  readonly turn: TurnState | undefined;
  /** Counts events that change the session's record on the server. */
  readonly changes: number;
  /** `loading`: the history is being replayed; `cut`: the connection is lost and the session will be loaded again. */
  readonly phase: "loading" | "live" | "cut" | "failed";
  readonly error: unknown;
}

/** The state before anything is loaded. */
const UNKNOWN: SessionView = {
  conversation: EMPTY_CONVERSATION,
  questions: [],
  waiting: [],
  running: [],
  turn: undefined,
  changes: 0,
  phase: "loading",
  error: undefined,
};

export interface AttachedSessionPorts {
  readonly schedule: Schedule;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * A session that this page is attached to. Updates are batched per frame. While the history is replayed, the page keeps
 * showing the previous state; then the replayed state replaces it, so that nothing is missing or duplicated.
 */
export class AttachedSession {
  readonly id: string;
  /** Whether the session has ended permanently and is read-only. */
  isOver = false;
  readonly view = new Observable<SessionView>(UNKNOWN);
  readonly #ports: AttachedSessionPorts;
  #received: ReceivedUpdate[] = [];
  /** The replayed updates, during a replay. */
  #replayed: ReceivedUpdate[] | undefined;
  /** The last turn state received. */
  #turn: TurnState | undefined;
  #isScheduled = false;

  constructor(id: string, ports: AttachedSessionPorts) {
    this.id = id;
    this.#ports = ports;
  }

  /** Starts a replay of the whole history. */
  startReplay(): void {
    this.#replayed = [];
    this.#received = [];
    this.#change({ phase: "loading", error: undefined, questions: [] });
  }

  /**
   * Ends the replay. `answer` has the current settings, which override replayed ones; `isInFlight` says which prompts
   * were sent over the current connection.
   */
  finishReplay(answer: unknown, isInFlight: (prompt: string) => boolean = () => false): void {
    const received = this.#replayed ?? [];
    this.#replayed = undefined;
    const now = settingsIn(answer);
    const replayed = withUpdates({ ...EMPTY_CONVERSATION, settings: now }, received);
    const conversation = now.length > 0 ? { ...replayed, settings: now } : replayed;
    const started = promptsIn(received);
    const waiting = this.#view.waiting.filter(({ id }) => !started.has(id));
    this.#change({
      conversation,
      phase: "live",
      waiting: waiting.map((prompt) => (isInFlight(prompt.id) ? prompt : { ...prompt, state: "unsure" })),
      running: [...started].filter(isInFlight),
    });
    this.#showTurn();
  }

  /** Marks a new session as loaded; it has no history. */
  created(answer: unknown): void {
    this.#flush();
    const { conversation } = this.#view;
    this.#change({ phase: "live", conversation: { ...conversation, settings: settingsIn(answer) } });
  }

  failed(error: unknown): void {
    this.#replayed = undefined;
    this.#change({ phase: "failed", error });
  }

  /** Handles a lost connection. */
  cut(): void {
    this.#replayed = undefined;
    this.#flush();
    this.#change({ phase: "cut", questions: [] });
  }

  receive(update: JsonObject): void {
    if (this.#replayed) {
      this.#replayed.push({ update, at: undefined });
      return;
    }
    this.#received.push({ update, at: this.#ports.now() });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#ports.schedule(() => this.#flush());
  }

  /** Updates the turn state of other clients. During a replay only the last one counts. */
  turn(state: TurnState): void {
    this.#turn = state;
    if (!this.#replayed) this.#showTurn();
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

  addQuestion(question: Question): void {
    this.#change({ questions: [...this.#view.questions, question] });
  }

  removeQuestion(id: string): void {
    this.#change({ questions: this.#view.questions.filter((question) => question.id !== id) });
  }

  /** Adds a sent prompt to the queue. */
  addPrompt(id: string, text: string): void {
    this.#change({ waiting: [...this.#view.waiting, { id, text, state: "sent" }] });
  }

  /** Removes a prompt that was answered or cancelled. */
  removePrompt(id: string): void {
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
    if (this.#received.length === 0) return;
    const received = this.#received;
    this.#received = [];
    const { conversation, waiting, running, changes } = this.#view;
    const started = promptsIn(received);
    const mine = waiting.filter(({ id }) => started.has(id)).map(({ id }) => id);
    this.#change({
      conversation: withUpdates(conversation, received),
      ...(received.some(isRenamed) && { changes: changes + 1 }),
      ...(mine.length > 0 && {
        waiting: waiting.filter(({ id }) => !started.has(id)),
        running: [...running, ...mine],
      }),
    });
  }
}

function isRenamed({ update }: ReceivedUpdate): boolean {
  return update.sessionUpdate === "session_info_update";
}

/** The ids of the prompts whose turn has started according to the updates. */
function promptsIn(received: readonly ReceivedUpdate[]): ReadonlySet<string> {
  const named = received.flatMap(({ update }) =>
    update.sessionUpdate === "user_message_chunk" ? (annotationIn(update)?.prompt ?? []) : [],
  );
  return new Set(named);
}
