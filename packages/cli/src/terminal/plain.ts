import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";
import type { Chat, ChoiceItem, Display } from "./chat.ts";
import { ANSWERS, commandIn, submit } from "./commands.ts";
import { partLines } from "./lines.ts";
import { guarded, PLAIN_STYLE, proseLine } from "./text.ts";

interface PlainOptions {
  readonly input: NodeJS.ReadableStream;
  readonly write: (text: string) => void;
  readonly width: number;
  readonly now: () => Date;
  /** Whether a person types, who can answer questions. */
  readonly isPerson: boolean;
}

/** Shows a chat as lines that are written once, and reads a prompt or command from each line of the input. */
export class PlainView implements Display {
  readonly #chat: Chat;
  readonly #options: PlainOptions;
  #isPrinting = false;
  #asked: string | undefined;

  constructor(chat: Chat, options: PlainOptions) {
    this.#chat = chat;
    this.#options = options;
  }

  /** Reads the input to its end, and waits for the turns of what it said. */
  async run(): Promise<void> {
    const lines = createInterface({ input: this.#options.input });
    const turns = new Set<Promise<void>>();
    void this.#chat.left.then(() => lines.close());
    for await (const line of lines) {
      if (line.trim() === "") continue;
      const turn = this.#enter(line);
      turns.add(turn);
      void turn.finally(() => turns.delete(turn));
      // Lines of a file wait for the turns before them; a person may answer, cancel or queue meanwhile.
      if (!this.#options.isPerson) await Promise.race([turn, this.#chat.left]);
    }
    await Promise.race([Promise.all(turns), this.#chat.left]);
  }

  changed(): void {
    if (this.#isPrinting) return;
    this.#isPrinting = true;
    const { state } = this.#chat;
    for (const part of state.finished) {
      const page = { width: this.#options.width, style: PLAIN_STYLE, now: this.#options.now };
      for (const line of partLines(part, page)) this.#print(line);
    }
    if (state.finished.length > 0) this.#chat.dispatch({ type: "printed", count: state.finished.length });
    const [question] = this.#chat.state.questions;
    if (question && question.key !== this.#asked) this.#ask(question.key);
    if (!question) this.#asked = undefined;
    this.#isPrinting = false;
  }

  async choose(title: string, items: readonly ChoiceItem[]): Promise<undefined> {
    this.#print(`${proseLine(title)}:`);
    for (const { value, label, about = "" } of items)
      this.#print(
        `  ${label.startsWith(value.slice(0, 8)) ? "" : `${proseLine(value)}  `}${proseLine(label)}  ${proseLine(about)}`,
      );
  }

  #ask(key: string): void {
    this.#asked = key;
    this.#chat.questions.wasShown(key);
    this.#print(
      this.#options.isPerson
        ? "? Answer with /allow, /always or /deny <reason>."
        : `? Waits for an answer from elsewhere: reins approvals approve ${key}`,
    );
  }

  #enter(line: string): Promise<void> {
    const { question, questions } = this.#chat;
    const name = commandIn(line)?.name ?? "";
    const isEarly = question && !questions.counts(question.key);
    if (ANSWERS.has(name) && (!this.#options.isPerson || isEarly)) {
      this.#chat.note(
        "That answer came too early, or not from a person at a terminal; it does not count.",
        "warn",
      );
      return Promise.resolve();
    }
    return submit(this.#chat, line);
  }

  #print(line: string): void {
    this.#options.write(`${guarded(stripVTControlCharacters(line)).trimEnd()}\n`);
  }
}
