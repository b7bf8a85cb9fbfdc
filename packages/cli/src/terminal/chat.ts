import { setImmediate } from "node:timers/promises";
import { errorMessage } from "@reins/kit";
import {
  type ApprovalDecision,
  type ConversationEvent,
  InterruptedError,
  type ReinsClient,
  type Session,
  type SessionRecord,
  type Turn,
} from "@reins/sdk";
import { CliError, EXIT } from "../errors.ts";
import { ago } from "../time.ts";
import { AskedForms, AskedQuestions } from "./questions.ts";
import { followSession } from "./session-feed.ts";
import { choiceNamed, type SessionSetting } from "./settings.ts";
import { type AskedQuestion, EMPTY_STATE, reduce, type State, type TerminalEvent } from "./state.ts";

/** One of several things to choose from. */
export interface ChoiceItem {
  readonly value: string;
  readonly label: string;
  readonly about?: string;
}

/** What shows the state of a chat. */
export interface Display {
  changed(): void;
  /** Lets the person choose; resolves with undefined if they choose nothing. */
  choose(title: string, items: readonly ChoiceItem[]): Promise<string | undefined>;
}

interface ChatOptions {
  readonly now: () => Date;
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** With which session a chat begins. */
export interface ChatStart {
  readonly agent: string | undefined;
  /** The folder; the caller's workspace on another machine if absent. */
  readonly cwd: string | undefined;
  readonly mode: string | undefined;
  readonly model: string | undefined;
  /** The id of a session or its beginning; `latest` is the last one in the folder. */
  readonly resume: string | undefined;
}

const NATIVE = "native";
const SHOWN_ID = 8;
const MOST_LISTED = 30;
/** Of a resumed session, so many of the last turns are shown. */
const SHOWN_TURNS = 5;

/** A conversation with agents: sends what the person does to the server, and reduces what comes back to a state. */
export class Chat {
  readonly questions: AskedQuestions;
  readonly forms: AskedForms;
  state: State = EMPTY_STATE;
  display: Display | undefined;
  readonly #options: ChatOptions;
  #reins: ReinsClient | undefined;
  #session: Session | undefined;
  #folder: string | undefined;
  #following = new AbortController();
  readonly #turns = new Map<string, Turn>();
  /** Resolve when the end of a turn has been processed. */
  readonly #ends = new Map<string, Promise<void>>();
  readonly #left = Promise.withResolvers<void>();
  /** Whether a turn has begun or ended since the session was opened. */
  #turnChanged = false;
  /** Whether the last turn ended as it should. */
  #isGood = true;

  constructor(options: ChatOptions) {
    this.#options = options;
    const shown = {
      dispatch: (event: TerminalEvent) => this.dispatch(event),
      isShown: (session: string) => session === this.#session?.id,
    };
    this.questions = new AskedQuestions({ ...options, ...shown, approvals: () => this.reins.approvals });
    this.forms = new AskedForms(shown);
  }

  get reins(): ReinsClient {
    if (!this.#reins) throw new Error("The chat is not connected.");
    return this.#reins;
  }

  /** Resolves when the person leaves. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  get isGood(): boolean {
    return this.#isGood;
  }

  readonly handlers = {
    onPermission: (...asked: Parameters<AskedQuestions["ask"]>) => this.questions.ask(...asked),
    onElicitation: (...asked: Parameters<AskedForms["ask"]>) => this.forms.ask(...asked),
    onState: (isConnected: boolean) => this.dispatch({ type: "connection", isConnected }),
  };

  dispatch(event: TerminalEvent): void {
    this.state = reduce(this.state, event);
    this.display?.changed();
  }

  note(text: string, tone: "note" | "good" | "warn" | "bad" = "note"): void {
    this.dispatch({ type: "note", tone, text });
  }

  /** Opens the first session. */
  async begin(reins: ReinsClient, { agent, cwd, mode, model, resume }: ChatStart): Promise<void> {
    this.#reins = reins;
    this.#folder = cwd;
    if (resume === undefined) await this.create(agent ?? NATIVE);
    else await this.resume(resume === "latest" ? await this.#latest(agent) : resume);
    if (mode !== undefined) await this.set("mode", mode);
    if (model !== undefined) await this.set("model", model);
  }

  async create(agent: string): Promise<void> {
    await this.#install(agent);
    await this.#show(await this.reins.sessions.create({ agent, cwd: this.#folder }));
  }

  /** Continues a session by its id or the beginning of it. */
  async resume(id: string): Promise<void> {
    await this.#show(await this.reins.sessions.resume(await this.#wholeId(id)));
  }

  async fork(): Promise<void> {
    const from = this.#required;
    await this.#show(await from.fork());
    this.note(`Continues ${from.id.slice(0, SHOWN_ID)} in a session of its own.`);
  }

  /** The sessions of this folder first, then the others. */
  async sessions(): Promise<readonly ChoiceItem[]> {
    const found = await this.#listed();
    const here = found.filter(({ cwd }) => cwd === this.#folder);
    const now = this.#options.now();
    return [...here, ...found.filter((one) => !here.includes(one))].map((record) => sessionItem(record, now));
  }

  /** Sends a message into the turn under way; without one that takes it, it is a prompt. */
  async steer(text: string): Promise<void> {
    this.note(`Sent into the turn: ${text}`);
    const { stopReason } = await this.#required.steer(text);
    if (stopReason !== "end_turn") this.note(`The message "${text}" ended with: ${stopReason}`, "warn");
  }

  /** Sends a prompt; it waits for earlier ones. */
  async prompt(text: string): Promise<void> {
    const session = this.#required;
    const turn = session.prompt(text);
    this.#turns.set(turn.id, turn);
    this.dispatch({ type: "queued", prompt: { id: turn.id, text } });
    const ended = Promise.withResolvers<void>();
    this.#ends.set(turn.id, ended.promise);
    try {
      const { stopReason } = await turn.result();
      // The last events of the turn come first.
      await setImmediate();
      this.#isGood = stopReason === "end_turn";
      if (session.id === this.#session?.id)
        this.dispatch({ type: "turn_ended", prompt: turn.id, stopReason });
    } catch (error) {
      this.#isGood = false;
      if (session.id === this.#session?.id)
        this.dispatch({ type: "turn_failed", prompt: turn.id, text: failure(error) });
    } finally {
      this.#turns.delete(turn.id);
      this.#ends.delete(turn.id);
      ended.resolve();
    }
    // An agent may report its settings with its first turn.
    if (this.state.settings.length === 0 && !this.state.isOver) await this.#readSettings();
  }

  /** Cancels the running turn, and with `all` those that wait. */
  async cancel({ all = false } = {}): Promise<void> {
    const { turn, queue, isConnected } = this.state;
    if (all) for (const { id } of queue) this.#turns.get(id)?.cancel();
    if (turn === undefined) return;
    const own = this.#turns.get(turn);
    // Whatever runs is cancelled then: sent when the connection is back, that would be the next turn.
    if (!isConnected)
      this.note(
        own ? "Cancelled once the connection is back." : "Not connected: nothing is cancelled.",
        "warn",
      );
    if (!own && !isConnected) return;
    this.dispatch({ type: "cancelling" });
    if (own) own.cancel();
    else await this.#required.cancel();
  }

  /** Changes a setting by its id or category, to a value or its name. */
  async set(id: string, word: string): Promise<void> {
    const setting = this.setting(id);
    if (!setting) throw new CliError(`This session has no ${id} to set.`, { next: "See /status." });
    const value = choiceNamed(setting, word);
    if (value === undefined)
      throw new CliError(`There is no ${setting.name.toLowerCase()} "${word}".`, {
        next: `Choose one of: ${setting.choices.map((choice) => choice.value).join(", ")}.`,
      });
    const session = this.#required;
    if (setting.kind === "mode") await session.setMode(value);
    else if (setting.kind === "model") await session.setModel(value);
    else await session.setOption(setting.id, value);
    await this.#readSettings();
    this.note(`${setting.name}: ${value}`);
  }

  setting(id: string): SessionSetting | undefined {
    const { settings } = this.state;
    return settings.find((one) => one.id === id) ?? settings.find(({ category }) => category === id);
  }

  /** The question that is asked now. */
  get question(): AskedQuestion | undefined {
    return this.state.questions[0];
  }

  async answer(decision: ApprovalDecision, note?: string): Promise<void> {
    const { question } = this;
    if (!question) return this.note("Nothing is asked.");
    if (!question.approval.options.includes(decision))
      return this.note("That answer is not offered.", "warn");
    await this.questions.answer(question, decision, note);
  }

  /** Ctrl-C: cancels the running turn; the second one leaves. Returns whether there was something to cancel. */
  interrupt(): boolean {
    if (this.state.isLeaving) {
      this.leave();
      return true;
    }
    this.dispatch({ type: "leaving", isLeaving: true });
    this.dispatch({ type: "answering", isAnswering: false });
    if (this.state.turn === undefined) return false;
    void this.cancel().catch((error: unknown) => this.note(errorMessage(error), "bad"));
    return true;
  }

  /** Ends the conversation; the session stays. */
  leave(): void {
    this.#following.abort();
    this.#left.resolve();
  }

  get #required(): Session {
    if (!this.#session || this.state.isOver)
      throw new CliError("There is no session.", { next: "/new begins one.", exitCode: EXIT.failed });
    return this.#session;
  }

  /** Shows a session in place of the last one. */
  async #show(session: Session): Promise<void> {
    this.#following.abort();
    const following = new AbortController();
    this.#following = following;
    this.#session = session;
    const record = await this.reins.sessions.get(session.id);
    this.dispatch({ type: "opened", record });
    const { agent, cwd, title } = record;
    this.note(
      `${agent} in ${cwd}, session ${session.id.slice(0, SHOWN_ID)}${title === undefined ? "" : `: ${title}`}`,
    );
    const begun = Promise.withResolvers<void>();
    const { wait } = this.#options;
    const done = followSession({
      ...{ session, wait, signal: following.signal },
      past: (events) => {
        this.#showPast(events);
        begun.resolve();
      },
      take: (event) => this.#take(event),
    });
    done.catch((error: unknown) =>
      this.note(`The session cannot be followed: ${errorMessage(error)}`, "bad"),
    );
    await Promise.race([begun.promise, done]);
    await this.#joinTurn(session, following.signal);
    this.questions.askAgain(session.id);
    this.forms.askAgain(session.id);
  }

  /** Shows the turn that another client prompted before the session was opened here. */
  async #joinTurn(session: Session, signal: AbortSignal): Promise<void> {
    this.#turnChanged = false;
    const { state } = await this.reins.sessions.get(session.id);
    // What has arrived meanwhile is newer.
    if (state !== "running" || this.#turnChanged || signal.aborted || this.state.turn !== undefined) return;
    this.dispatch({ type: "conversation", event: { type: "turn", state: "running", stopReason: undefined } });
  }

  /** The response to a prompt is processed before the next turn, as it was sent. */
  async #take(event: ConversationEvent): Promise<void> {
    const { turn } = this.state;
    if (event.type === "turn") this.#turnChanged = true;
    if (event.type === "prompt" && turn !== undefined) await this.#ends.get(turn);
    this.dispatch({ type: "conversation", event });
  }

  /** Shows the last turns of what happened before; the rest only makes the state. */
  #showPast(events: readonly ConversationEvent[]): void {
    const prompts = events.flatMap(({ type }, index) => (type === "prompt" ? [index] : []));
    const from = prompts.at(-SHOWN_TURNS) ?? 0;
    const take = (event: (typeof events)[number]) => {
      this.state = reduce(this.state, { type: "conversation", event });
    };
    const before = this.state.finished;
    for (const event of events.slice(0, from)) take(event);
    this.state = { ...this.state, finished: before };
    if (prompts.length > SHOWN_TURNS)
      this.note(`${prompts.length - SHOWN_TURNS} earlier turns are not shown; the page has them.`);
    for (const event of events.slice(from)) take(event);
    this.display?.changed();
  }

  async #readSettings(): Promise<void> {
    const { settings } = await this.reins.sessions.get(this.#required.id);
    this.dispatch({ type: "settings", settings });
  }

  /** Installs an agent that is not, with its progress. */
  async #install(id: string): Promise<void> {
    const agents = await this.reins.agents.list();
    const agent = agents.find((one) => one.agent === id);
    if (!agent)
      throw new CliError(`There is no agent "${id}".`, {
        next: `Known are: ${agents.map((one) => one.agent).join(", ")}.`,
      });
    if (agent.built_in || agent.install) return;
    try {
      for await (const progress of this.reins.agents.install(id)) {
        if (progress.phase === "failed")
          throw new CliError(progress.message, {
            next: `Try: reins agents install ${id}`,
            exitCode: EXIT.failed,
          });
        const part = progress.phase === "installing" ? ` ${progress.done} of ${progress.total} packages` : "";
        this.dispatch({ type: "busy", text: `${agent.name}: ${progress.phase}${part}` });
      }
    } finally {
      this.dispatch({ type: "busy", text: undefined });
    }
  }

  async #latest(agent: string | undefined): Promise<string> {
    for await (const { id } of this.reins.sessions.list({ cwd: this.#folder, agent })) return id;
    throw new CliError(`There is no session${this.#folder === undefined ? "" : ` in ${this.#folder}`}.`, {
      next: "Begin one: reins",
      exitCode: EXIT.failed,
    });
  }

  async #wholeId(given: string): Promise<string> {
    const found = new Set<string>();
    for await (const { id } of this.reins.sessions.list()) if (id.startsWith(given)) found.add(id);
    const [only] = found;
    if (only !== undefined && found.size === 1) return only;
    throw new CliError(
      found.size === 0
        ? `No session's id begins with ${given}.`
        : `Several sessions' ids begin with ${given}.`,
      { next: "/sessions lists them.", exitCode: EXIT.failed },
    );
  }

  async #listed(): Promise<readonly SessionRecord[]> {
    const found: SessionRecord[] = [];
    for await (const record of this.reins.sessions.list()) {
      found.push(record);
      if (found.length >= MOST_LISTED) break;
    }
    return found;
  }
}

function sessionItem(
  { id, agent, title, cwd, state, last_activity: at }: SessionRecord,
  now: Date,
): ChoiceItem {
  const waits = state === "running" ? ", running" : "";
  return {
    value: id,
    label: `${id.slice(0, SHOWN_ID)} ${agent}: ${title ?? "no title"}`,
    about: `${ago(at, now)}${waits}, ${cwd}`,
  };
}

function failure(error: unknown): string {
  if (!(error instanceof InterruptedError)) return errorMessage(error);
  return `Interrupted: ${error.message}. The prompt is not sent again.`;
}
