import { type JsonObject, readContent } from "@reins/acp";
import type { Harness, Subject } from "@reins/supervisor";
import type { PreparedTurn, TurnPreparation } from "../governor/context.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import { manifestOf } from "./manifest.ts";
import { NO_MAIL, type TenantMessaging, type TurnMail } from "./messaging.ts";
import { type OfferedTool, type PreambleParts, preambleFor } from "./preamble.ts";

/** What turns are prepared with. */
export interface ConstitutionalPreparationOptions extends TurnContextOptions {
  /** The tools that policy lets the agent of a session see, where they are known. */
  readonly toolsOf?: (session: GovernedSession) => readonly OfferedTool[] | undefined;
  /** Told what could not be read. */
  readonly onFault?: (reason: string) => void;
}

/** Puts mail and constitution before the prompts of every session that the governor runs for one tenant. */
export class ConstitutionalPreparation implements TurnPreparation {
  readonly #options: ConstitutionalPreparationOptions;
  readonly #contexts = new WeakMap<GovernedSession, TurnContext>();

  constructor(options: ConstitutionalPreparationOptions) {
    this.#options = options;
  }

  async compose(
    session: GovernedSession,
    subject: Subject,
    prompt: readonly unknown[],
    { inSystemPrompt = false }: { readonly inSystemPrompt?: boolean } = {},
  ): Promise<PreparedTurn> {
    const { toolsOf, onFault } = this.#options;
    const tools = toolsOf?.(session);
    const { commands } = session;
    const context = this.#contextOf(session);
    const { mail, faults, ...turn } = await context.compose(prompt, {
      ...{ subject, commands, inSystemPrompt },
      ...(tools && { tools }),
    });
    for (const fault of faults) onFault?.(fault);
    return { ...turn, entries: mail.entries };
  }

  #contextOf(session: GovernedSession): TurnContext {
    const context = this.#contexts.get(session) ?? new TurnContext(this.#options);
    this.#contexts.set(session, context);
    return context;
  }
}

/** What turns are put together from. */
export interface TurnContextOptions {
  readonly harness: Pick<Harness, "home" | "policies" | "ledger">;
  /** Mail and board; turns have neither if absent. */
  readonly messaging?: TenantMessaging | undefined;
}

/** Whose turn it is. */
export interface TurnCircumstances {
  readonly subject: Subject;
  /** The tools that policy lets the agent see, where they are known. */
  readonly tools?: readonly OfferedTool[];
  /** The commands the agent has announced. It knows one only where nothing stands before it. */
  readonly commands?: readonly string[];
  /** Whether the agent takes the preamble into its system prompt, so that no prompt has to hold it. */
  readonly inSystemPrompt?: boolean;
}

/** A turn as the agent gets it. */
export interface ComposedTurn {
  /** Mail, preamble, and the user's own blocks as they came. */
  readonly prompt: readonly unknown[];
  /** The preamble, for an agent that takes it into its system prompt. */
  readonly instructions: string | undefined;
  /** The mail that was put into it. */
  readonly mail: TurnMail;
  /** What could not be read. */
  readonly faults: readonly string[];
  /** Ends the turn: mail that the agent got is read, and a preamble that it got need not be said again. */
  end(outcome: TurnOutcome): Promise<void>;
}

/** What became of a turn that was put together. */
interface TurnOutcome {
  /** Whether the agent got the prompt and keeps it; a refused or failed one it may have thrown away. */
  readonly delivered: boolean;
  /** The most tokens that its context held in the turn; 0 where it does not tell. */
  readonly contextTokens: number;
}

/** A context that holds less than this part of what it held was compacted. */
const COMPACTED = 0.5;

/**
 * What is put before the prompts of one session: unread mail at position 0, then the constitution, mandate, board and
 * tools. The native agent has the latter in the system prompt of every request. Others get it in the first prompt,
 * and again when they have changed, when a prompt came to nothing and when it has compacted its context.
 */
export class TurnContext {
  readonly #options: TurnContextOptions;
  #said: string | undefined;
  #contextTokens = 0;
  /** The last preamble, and what it was made from. */
  #made: { readonly parts: PreambleParts; readonly text: string } | undefined;

  constructor(options: TurnContextOptions) {
    this.#options = options;
  }

  /** Puts a turn together. The mail in it is recorded, and read once the turn has delivered it. */
  async compose(prompt: readonly unknown[], circumstances: TurnCircumstances): Promise<ComposedTurn> {
    const faults: string[] = [];
    const preamble = await this.#preamble(circumstances, faults);
    const instructions = circumstances.inSystemPrompt ? preamble : undefined;
    if (isCommand(prompt, circumstances.commands ?? []))
      return {
        prompt,
        instructions,
        mail: NO_MAIL,
        faults,
        end: async ({ contextTokens }) => this.#notice(contextTokens),
      };
    // Mail comes last, because from then on it is taken.
    const mail = await this.#mail(circumstances.subject, faults);
    const before = [
      ...(mail.text === undefined ? [] : [text(mail.text)]),
      ...(circumstances.inSystemPrompt || preamble === this.#said ? [] : [text(preamble)]),
    ];
    const end = async ({ delivered, contextTokens }: TurnOutcome) => {
      this.#said = delivered ? preamble : undefined;
      this.#notice(contextTokens);
      await mail.settle({ delivered });
    };
    return { prompt: [...before, ...prompt], instructions, mail, faults, end };
  }

  /** Says the preamble again in the next turn of an agent whose context has shrunk. */
  #notice(contextTokens: number): void {
    if (contextTokens === 0) return;
    if (contextTokens < this.#contextTokens * COMPACTED) this.#said = undefined;
    this.#contextTokens = contextTokens;
  }

  async #preamble({ subject, tools }: TurnCircumstances, faults: string[]): Promise<string> {
    const { harness, messaging } = this.#options;
    const { fault, ...manifest } = await manifestOf(subject, harness);
    if (fault !== undefined) faults.push(fault);
    const excerpt = await messaging?.board.excerpt();
    if (excerpt) addFaults(faults, excerpt.faults);
    const parts = { ...manifest, board: excerpt?.lines ?? [], ...(tools && { tools }) };
    if (!this.#made || !isSame(this.#made.parts, parts)) this.#made = { parts, text: preambleFor(parts) };
    return this.#made.text;
  }

  async #mail(subject: Subject, faults: string[]): Promise<TurnMail> {
    const { harness, messaging } = this.#options;
    const mail = (await messaging?.mailbox.injectUnread(subject, harness.ledger)) ?? NO_MAIL;
    addFaults(faults, mail.faults);
    return mail;
  }
}

/** Whether two preambles would be the same. */
function isSame(before: PreambleParts, now: PreambleParts): boolean {
  return (
    before.agent === now.agent &&
    before.trust === now.trust &&
    before.constitutionHash === now.constitutionHash &&
    before.prose === now.prose &&
    before.mandate === now.mandate &&
    before.tools === now.tools &&
    before.board.length === now.board.length &&
    before.board.every((line, index) => line === now.board[index])
  );
}

function addFaults(faults: string[], more: readonly string[]): void {
  for (const fault of more) if (!faults.includes(fault)) faults.push(fault);
}

/** A block that is none of the person's words. */
function text(words: string): JsonObject {
  return { type: "text", text: words, annotations: { audience: ["assistant"] } };
}

function isCommand([first]: readonly unknown[], commands: readonly string[]): boolean {
  if (commands.length === 0) return false;
  const { type, text: words } = readContent(first);
  if (type !== "text" || words === undefined) return false;
  const [, name] = /^\s*\/(\S+)/.exec(words) ?? [];
  return name !== undefined && commands.includes(name);
}
