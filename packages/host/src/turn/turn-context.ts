import { randomBytes } from "node:crypto";
import type { Harness, Subject } from "@reins/supervisor";
import { type JsonObject, membersOf } from "../acp/message.ts";
import type { Board } from "../board/board.ts";
import type { Injection, Mailbox } from "../mail/mailbox.ts";
import { SharedFileError } from "../mail/shared-file-error.ts";
import { mailMessage } from "./mail-message.ts";
import { manifestOf } from "./manifest.ts";
import { type OfferedTool, type PreambleParts, preambleFor } from "./preamble.ts";

/** What turns are put together from. */
export interface TurnContextOptions {
  readonly harness: Pick<Harness, "home" | "policies" | "ledger">;
  readonly mailbox: Mailbox;
  readonly board: Board;
  /** Makes a text that nobody can know beforehand. */
  readonly newBoundary?: () => string;
}

/** Whose turn it is. */
export interface TurnCircumstances {
  readonly subject: Subject;
  /** The tools that policy lets the agent see, where they are known. */
  readonly tools?: readonly OfferedTool[];
  /** The commands the agent has announced. It knows one only where nothing stands before it. */
  readonly commands?: readonly string[];
}

/** A turn as the agent gets it. */
export interface ComposedTurn {
  /** Mail, preamble, and the user's own blocks as they came. */
  readonly prompt: readonly unknown[];
  /** The mail that was put into it. */
  readonly mail: Injection;
  /** What could not be read, for somebody to put right. */
  readonly faults: readonly string[];
}

const NO_MAIL: Injection = { messages: [], entries: [], waiting: 0, faults: [] };

/**
 * What is put before the prompts of one session: unread mail at position 0, then the constitution, mandate, board and
 * tools, said once and again only when they have changed.
 */
export class TurnContext {
  readonly #options: TurnContextOptions;
  readonly #newBoundary: () => string;
  #said: string | undefined;
  /** The last preamble, and what it was made from. */
  #made: { readonly parts: PreambleParts; readonly text: string } | undefined;

  constructor(options: TurnContextOptions) {
    this.#options = options;
    this.#newBoundary = options.newBoundary ?? (() => randomBytes(16).toString("hex"));
  }

  /** Puts a turn together. The mail in it is recorded and read from now on. */
  async compose(prompt: readonly unknown[], circumstances: TurnCircumstances): Promise<ComposedTurn> {
    if (isCommand(prompt, circumstances.commands ?? [])) return { prompt, mail: NO_MAIL, faults: [] };
    const faults: string[] = [];
    const preamble = await this.#preamble(circumstances, faults);
    // Mail comes last, because from then on it counts as read.
    const mail = await this.#mail(circumstances.subject, faults);
    const before = [
      ...(mail.messages.length > 0 ? [text(this.#mailText(mail))] : []),
      ...(preamble === this.#said ? [] : [text(preamble)]),
    ];
    this.#said = preamble;
    return { prompt: [...before, ...prompt], mail, faults };
  }

  /** Says the preamble again in the next turn, because the agent never got it or has lost it. */
  forget(): void {
    this.#said = undefined;
  }

  async #preamble({ subject, tools }: TurnCircumstances, faults: string[]): Promise<string> {
    const { harness, board } = this.#options;
    const { fault, ...manifest } = await manifestOf(subject, harness);
    if (fault !== undefined) faults.push(fault);
    const lines = await orFault(() => board.read(), [], faults);
    const parts = { ...manifest, board: lines, ...(tools && { tools }) };
    if (!this.#made || !isSame(this.#made.parts, parts)) this.#made = { parts, text: preambleFor(parts) };
    return this.#made.text;
  }

  async #mail(subject: Subject, faults: string[]): Promise<Injection> {
    const { harness, mailbox } = this.#options;
    const mail = await orFault(() => mailbox.injectUnread(subject, harness.ledger), NO_MAIL, faults);
    faults.push(...mail.faults);
    return mail;
  }

  #mailText({ messages, waiting }: Injection): string {
    return mailMessage(messages, { boundary: this.#newBoundary(), waiting });
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

/** A file that cannot be read does not end the turn; somebody is told. A ledger or a store that fails does. */
async function orFault<Value>(
  readFile: () => Promise<Value>,
  otherwise: Value,
  faults: string[],
): Promise<Value> {
  try {
    return await readFile();
  } catch (error) {
    if (!(error instanceof SharedFileError)) throw error;
    if (!faults.includes(error.message)) faults.push(error.message);
    return otherwise;
  }
}

/** A block that is none of the person's words. */
function text(words: string): JsonObject {
  return { type: "text", text: words, annotations: { audience: ["assistant"] } };
}

function isCommand([first]: readonly unknown[], commands: readonly string[]): boolean {
  if (commands.length === 0) return false;
  const { type, text: words } = membersOf(first);
  if (type !== "text" || typeof words !== "string") return false;
  const [, name] = /^\s*\/(\S+)/.exec(words) ?? [];
  return name !== undefined && commands.includes(name);
}
