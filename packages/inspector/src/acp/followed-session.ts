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

/** Something that was sent and whose turn has not come, or that got lost on the way. */
export interface WaitingPrompt {
  readonly id: string;
  readonly text: string;
  /** `unsure`: the line was cut before its turn came, and nobody knows whether the server still has it. */
  readonly state: "sent" | "unsure";
}

/** Whether a turn runs in a session. */
export type TurnState = "running" | "idle";

/** How a session stands in this page. */
export interface SessionView {
  readonly conversation: Conversation;
  readonly questions: readonly Question[];
  readonly waiting: readonly WaitingPrompt[];
  /** The prompts of this page whose turn runs. */
  readonly running: readonly string[];
  /** What the server told last of the turns that others began; nothing before it did. */
  readonly turn: TurnState | undefined;
  /** How often something was heard that changes what the server keeps of the session. */
  readonly changes: number;
  /** `taking_up`: what was said before is on its way; `cut`: the line is lost and will be taken up again. */
  readonly phase: "taking_up" | "live" | "cut" | "failed";
  readonly error: unknown;
}

/** A session before anything is known of it. */
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

/** What a followed session needs of the browser. */
export interface FollowedSessionParts {
  readonly schedule: Schedule;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * A session that this page follows. What comes is gathered and taken in with the next picture. While what was before is
 * told again, the page goes on showing what it had; then the one replaces the other, so that nothing is missing or there
 * twice.
 */
export class FollowedSession {
  readonly id: string;
  /** Whether it has ended for good, so that it can only be read. */
  isOver = false;
  readonly view = new Observable<SessionView>(UNKNOWN);
  readonly #parts: FollowedSessionParts;
  #heard: HeardUpdate[] = [];
  /** What is told again, while it is. */
  #retold: HeardUpdate[] | undefined;
  /** What was told last of its turns. */
  #turn: TurnState | undefined;
  #isScheduled = false;

  constructor(id: string, parts: FollowedSessionParts) {
    this.id = id;
    this.#parts = parts;
  }

  /** Everything is about to be told again, from the beginning. */
  takeUp(): void {
    this.#retold = [];
    this.#heard = [];
    this.#change({ phase: "taking_up", error: undefined, questions: [] });
  }

  /**
   * It was told again, up to now; `answer` says what can be chosen in it, and what is chosen now, whatever was told before.
   * `isOnItsWay` knows the prompts that were sent over the line that there is now.
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

  /** It begins here: there is nothing to be told again. */
  begun(answer: unknown): void {
    this.#flush();
    const { conversation } = this.#view;
    this.#change({ phase: "live", conversation: { ...conversation, settings: settingsIn(answer) } });
  }

  /** It cannot be taken up. */
  failed(error: unknown): void {
    this.#retold = undefined;
    this.#change({ phase: "failed", error });
  }

  /** The line is lost. */
  cut(): void {
    this.#retold = undefined;
    this.#flush();
    this.#change({ phase: "cut", questions: [] });
  }

  /** Takes an update. */
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

  /** Somebody else's turn has begun or ended. While what was before is told again, only the last of them counts. */
  turn(state: TurnState): void {
    this.#turn = state;
    if (!this.#retold) this.#showTurn();
  }

  /** What can be chosen in it has changed. */
  chosen(answer: unknown): void {
    const settings = settingsIn(answer);
    const { conversation } = this.#view;
    const kept = conversation.settings.filter(({ isMode }) => isMode);
    if (settings.length > 0)
      this.#change({ conversation: { ...conversation, settings: [...kept, ...settings] } });
  }

  /** A word of the page's own at the end of what was said. */
  note(tone: "note" | "warn" | "bad", text: string): void {
    this.#flush();
    this.#change({ conversation: withNote(this.#view.conversation, tone, text) });
  }

  /** It has ended for good. */
  end(): void {
    this.isOver = true;
    this.#flush();
    this.#turn = "idle";
    this.#change({ questions: [], waiting: [], running: [], turn: "idle", changes: this.#view.changes + 1 });
  }

  /** A question to the person. */
  ask(question: Question): void {
    this.#change({ questions: [...this.#view.questions, question] });
  }

  /** A question that waits for nobody any more. */
  withdraw(id: string): void {
    this.#change({ questions: this.#view.questions.filter((question) => question.id !== id) });
  }

  /** Something was sent. */
  sent(id: string, text: string): void {
    this.#change({ waiting: [...this.#view.waiting, { id, text, state: "sent" }] });
  }

  /** What was sent is answered, or taken back. */
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

/** The names of the prompts whose turn some updates show to have come. */
function promptsIn(heard: readonly HeardUpdate[]): ReadonlySet<string> {
  const named = heard.flatMap(({ update }) =>
    update.sessionUpdate === "user_message_chunk" ? (saidIn(update)?.prompt ?? []) : [],
  );
  return new Set(named);
}
