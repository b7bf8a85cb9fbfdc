import type { Approval, ShownApproval } from "@reins/api";
import { errorMessage } from "@reins/kit";
import {
  ApiError,
  type ApprovalDecision,
  type ApprovalsClient,
  type ElicitationAnswer,
  type ElicitationRequest,
  type PermissionAnswer,
  type PermissionRequest,
} from "@reins/sdk";
import { z } from "zod";
import { answerWords, quorumWords } from "../commands/approvals/words.ts";
import type { AskedQuestion, NoteTone, TerminalEvent } from "./state.ts";

/** A key pressed sooner after the question was shown is not meant for it. */
const SETTLE_MS = 700;
/** Keys in quicker succession are typing, or a paste. */
const QUIET_MS = 150;
const RETRY_MS = 1_000;

interface QuestionsOptions {
  readonly approvals: () => Pick<ApprovalsClient, "get" | "answer">;
  readonly dispatch: (event: TerminalEvent) => void;
  /** Whether the question belongs to the session that is shown. */
  readonly isShown: (session: string) => boolean;
  readonly now: () => Date;
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

interface OpenQuestion {
  readonly question: AskedQuestion;
  readonly resolve: (answer: PermissionAnswer) => void;
}

/**
 * The questions of agents, each with what its answer binds. An answer goes to the server's API, so that it is reported
 * as what became of it.
 */
export class AskedQuestions {
  readonly #options: QuestionsOptions;
  readonly #open = new Map<string, OpenQuestion>();
  /** The question that was drawn last, and when. */
  #shown: { readonly key: string; readonly at: number } | undefined;
  #lastKey = 0;
  #answering: string | undefined;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** Asks, until this terminal or another client answers. What the server does not show is left to others. */
  readonly ask = async (request: PermissionRequest): Promise<PermissionAnswer> => {
    const { signal, sessionId } = request;
    const approval =
      request.approval === undefined ? undefined : await this.#approval(request.approval, signal);
    if (!approval || signal.aborted) return undefined;
    const question: AskedQuestion = {
      key: approval.id,
      session: sessionId,
      call: request.call.toolCallId,
      approval,
    };
    const { promise, resolve } = Promise.withResolvers<PermissionAnswer>();
    this.#open.set(question.key, { question, resolve });
    signal.addEventListener("abort", () => void this.#settledElsewhere(question), { once: true });
    const { dispatch, isShown } = this.#options;
    if (isShown(sessionId)) dispatch({ type: "asked", question, call: request.call });
    else
      dispatch({
        type: "note",
        tone: "warn",
        text: `Another session asks for permission: /resume ${sessionId.slice(0, 8)}`,
      });
    return promise;
  };

  /** Asks again what a session asked while another was shown. */
  askAgain(session: string): void {
    for (const { question } of this.#open.values())
      if (question.session === session) this.#options.dispatch({ type: "asked", question });
  }

  /** Notes that a question is on the screen. */
  wasShown(key: string): void {
    if (this.#shown?.key !== key) this.#shown = { key, at: this.#time };
  }

  /** Whether a key counts for the question: it was shown for a while, and the person does not type. */
  counts(key: string): boolean {
    const now = this.#time;
    const isQuiet = now - this.#lastKey >= QUIET_MS;
    return isQuiet && this.#shown?.key === key && now - this.#shown.at >= SETTLE_MS;
  }

  /** Notes that a key was pressed. */
  pressed(): void {
    this.#lastKey = this.#time;
  }

  /** Whether a question was on the screen at a time. */
  wasShownBefore(key: string, time: number): boolean {
    return this.#shown?.key === key && this.#shown.at <= time;
  }

  async answer({ key }: AskedQuestion, decision: ApprovalDecision, note?: string): Promise<void> {
    if (this.#answering === key) return;
    this.#answering = key;
    const { approvals, dispatch } = this.#options;
    try {
      const { state, ...approval } = await approvals().answer(
        key,
        decision,
        note === undefined ? {} : { note },
      );
      this.#close(key);
      if (state === "pending") this.#settled(key, `Noted: ${quorumWords(approval)}.`, "note");
      else if (state === "denied") this.#settled(key, "Denied.", "bad");
      else this.#settled(key, ALLOWED[decision], "good");
    } catch (error) {
      dispatch({ type: "note", tone: "bad", text: `Not answered: ${errorMessage(error)}` });
      const known = await approvals()
        .get(key)
        .catch(() => undefined);
      if (known && known.state !== "pending") this.#reportElsewhere(known);
    } finally {
      this.#answering = undefined;
    }
  }

  /** Leaves a question to others. */
  putOff({ key }: AskedQuestion): void {
    const { dispatch } = this.#options;
    dispatch({ type: "put_off", key });
    dispatch({
      type: "note",
      tone: "note",
      text: `Left open: /questions, or reins approvals approve ${key}`,
    });
  }

  /** Another client answered, or the agent no longer waits. */
  async #settledElsewhere({ key }: AskedQuestion): Promise<void> {
    const known = await this.#options
      .approvals()
      .get(key)
      .catch(() => undefined);
    if (!this.#open.has(key) || this.#answering === key) return;
    if (known) this.#reportElsewhere(known);
    else {
      this.#close(key);
      this.#settled(key, "No longer asked.", "note");
    }
  }

  #reportElsewhere(approval: ShownApproval): void {
    const { id, state } = approval;
    this.#close(id);
    const answer = "withheld" in approval ? undefined : approval.answers.at(-1);
    this.#settled(
      id,
      answer ? `Answered elsewhere: ${answerWords(answer)}` : `No longer asked: ${ENDED[state] ?? state}.`,
      "note",
    );
  }

  #settled(key: string, note: string, tone: NoteTone): void {
    this.#options.dispatch({ type: "settled", key, note, tone });
  }

  #close(key: string): void {
    this.#open.get(key)?.resolve(undefined);
    this.#open.delete(key);
  }

  /** The approval, if this client may see it. Waits for a server that does not answer. */
  async #approval(id: string, signal: AbortSignal): Promise<Approval | undefined> {
    while (!signal.aborted) {
      try {
        const approval = await this.#options.approvals().get(id);
        return "withheld" in approval ? undefined : approval;
      } catch (error) {
        if (error instanceof ApiError) return undefined;
        await this.#options.wait(RETRY_MS, signal);
      }
    }
    return undefined;
  }

  get #time(): number {
    return this.#options.now().getTime();
  }
}

/** A form with one field, which is what an agent asks a person in words. */
interface OpenForm {
  readonly session: string;
  readonly message: string;
  readonly name: string;
  readonly choices: readonly string[];
  readonly resolve: (answer: ElicitationAnswer) => void;
}

const OneField = z.looseObject({
  properties: z.record(
    z.string(),
    z.looseObject({ type: z.literal("string"), enum: z.array(z.string()).optional() }),
  ),
});

/** The questions of agents that are no approvals: each waits for `/answer`, or for another client. */
export class AskedForms {
  readonly #options: Pick<QuestionsOptions, "dispatch" | "isShown">;
  readonly #open: OpenForm[] = [];

  constructor(options: Pick<QuestionsOptions, "dispatch" | "isShown">) {
    this.#options = options;
  }

  /** Asks, until this terminal or another client answers. What is more than one field of text is left to others. */
  readonly ask = async ({
    message,
    schema,
    sessionId = "",
    signal,
  }: ElicitationRequest): Promise<ElicitationAnswer> => {
    const [[name, { enum: choices = [] }] = [undefined, {}], ...more] = Object.entries(
      OneField.safeParse(schema).data?.properties ?? {},
    );
    if (name === undefined || more.length > 0 || !this.#options.isShown(sessionId)) {
      this.#note(`The agent of session ${sessionId.slice(0, 8)} asks something that the page can show.`);
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<ElicitationAnswer>();
    const form = { session: sessionId, message, name, choices, resolve };
    this.#open.push(form);
    signal.addEventListener("abort", () => {
      if (this.#close(form, undefined) && this.#options.isShown(sessionId)) this.#note("No longer asked.");
    });
    this.#show(form);
    return promise;
  };

  /** Asks again what a session asked before another was shown. */
  askAgain(session: string): void {
    for (const form of this.#open) if (form.session === session) this.#show(form);
  }

  /** The oldest question of the session that is shown. */
  get first(): Pick<OpenForm, "message" | "choices"> | undefined {
    return this.#first;
  }

  /** Answers the oldest question of the session that is shown; returns whether the answer is one that it takes. */
  answer(text: string): boolean {
    const form = this.#first;
    if (!form || text === "" || (form.choices.length > 0 && !form.choices.includes(text))) return false;
    this.#close(form, { action: "accept", content: { [form.name]: text } });
    return true;
  }

  get #first(): OpenForm | undefined {
    return this.#open.find(({ session }) => this.#options.isShown(session));
  }

  #show({ message, choices }: OpenForm): void {
    this.#note(`The agent asks: ${message}`);
    this.#note(
      choices.length > 0 ? `Answer with /answer: ${choices.join(" · ")}` : "Answer with /answer and a text.",
    );
  }

  #close(form: OpenForm, answer: ElicitationAnswer): boolean {
    const index = this.#open.indexOf(form);
    if (index < 0) return false;
    this.#open.splice(index, 1);
    form.resolve(answer);
    return true;
  }

  #note(text: string): void {
    this.#options.dispatch({ type: "note", tone: "warn", text });
  }
}

/** Why a question without an answer is no longer asked, where the state of the approval does not say it. */
const ENDED: Readonly<Record<string, string>> = {
  pending: "the agent waits for it no more",
  withdrawn: "the agent waits for it no more",
};

const ALLOWED: Readonly<Record<ApprovalDecision, string>> = {
  allow_once: "Allowed once.",
  allow_always: "Allowed, and always from now on: reins approvals grants",
  deny: "Allowed.",
};
