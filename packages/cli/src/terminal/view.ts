import {
  type Component,
  CURSOR_MARKER,
  Editor,
  isKeyRelease,
  matchesKey,
  ProcessTerminal,
  SelectList,
  type SelectListTheme,
  type Terminal,
  visibleWidth,
} from "@earendil-works/pi-tui";
import { HIDDEN } from "@reins/kit";
import type { Chat, ChoiceItem, Display } from "./chat.ts";
import { ANSWERS, commandIn, submit } from "./commands.ts";
import { completions } from "./complete.ts";
import { fitted, liveLines, type PageSize, partLines, statusLine } from "./lines.ts";
import { ScrollbackScreen } from "./screen.ts";
import { proseLine, type Style } from "./text.ts";

interface ViewOptions {
  readonly style: Style;
  readonly now: () => Date;
  /** The folder in which names of files are completed, if it is on this machine. */
  readonly folder: () => string | undefined;
  readonly terminal?: Terminal;
}

const MOST_CHOICES = 10;
const MOST_COMPLETIONS = 6;
/** Rows for the input, the status and the answers, on a small screen. */
const FIXED_ROWS = 7;

/** Shows a chat on a terminal and reads its keys. */
export class TerminalView implements Display, Component {
  readonly #chat: Chat;
  readonly #options: ViewOptions;
  readonly #screen: ScrollbackScreen;
  readonly #editor: Editor;
  #picker: { readonly title: string; readonly list: SelectList; readonly close: () => void } | undefined;
  /** When the person began what is in the input. */
  #typingSince: number | undefined;
  #submittedSince: number | undefined;
  /** The width for which the question was drawn. */
  #questionWidth: number | undefined;

  constructor(chat: Chat, options: ViewOptions) {
    this.#chat = chat;
    this.#options = options;
    const terminal = options.terminal ?? new ProcessTerminal();
    this.#screen = new ScrollbackScreen(terminal, { take: (width) => this.#take(width) }, this);
    const { style } = options;
    const theme = { borderColor: style.dim, selectList: listTheme(style) };
    this.#editor = new Editor(this.#screen, theme, { autocompleteMaxVisible: MOST_COMPLETIONS });
    this.#editor.setAutocompleteProvider(completions(chat, options.folder));
    this.#editor.onChange = (text) => this.#typed(text);
    this.#editor.onSubmit = (text) => this.#submit(text);
    this.#screen.addInputListener((data) => (this.#key(data) ? { consume: true } : undefined));
  }

  open(): void {
    this.#screen.setFocus(this.#editor);
    this.#screen.start();
  }

  close(): void {
    this.#screen.stop();
  }

  changed(): void {
    this.#screen.requestRender();
  }

  choose(title: string, items: readonly ChoiceItem[]): Promise<string | undefined> {
    this.#picker?.close();
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const shown = items.map(({ value, label, about }) => ({
      value,
      label: proseLine(label),
      ...(about !== undefined && { description: proseLine(about) }),
    }));
    const list = new SelectList(shown, MOST_CHOICES, listTheme(this.#options.style), {
      maxPrimaryColumnWidth: 48,
    });
    const finish = (value: string | undefined) => {
      this.#picker = undefined;
      this.#screen.setFocus(this.#editor);
      resolve(value);
      this.changed();
    };
    list.onSelect = ({ value }) => finish(value);
    list.onCancel = () => finish(undefined);
    this.#picker = { title, list, close: () => finish(undefined) };
    this.#screen.setFocus(list);
    this.changed();
    return promise;
  }

  /** The part of the screen that is drawn again: what grows, the input, and the status. */
  render(width: number): string[] {
    const page = this.#page(width);
    const { rows } = this.#screen.terminal;
    const input = this.#picker ? this.#pickerLines(width) : this.#editorLines(width);
    const room = Math.max(rows - input.length - FIXED_ROWS, 1);
    return [...liveLines(this.#chat.state, page, room), "", ...input, statusLine(this.#chat.state, page)];
  }

  invalidate(): void {
    this.#editor.invalidate();
  }

  #page(width: number): PageSize {
    const { style, now } = this.#options;
    return { width, style, now };
  }

  #editorLines(width: number): string[] {
    return this.#editor.render(width).map(withoutHidden);
  }

  #pickerLines(width: number): string[] {
    const { style } = this.#options;
    const { title = "", list } = this.#picker ?? {};
    const hint = style.dim("Enter chooses, Esc goes back");
    return fitted([style.strong(proseLine(title)), ...(list?.render(width) ?? []), hint], width);
  }

  /** The finished lines. While a question is asked, nothing is written below what it shows. */
  #take(width: number): readonly string[] {
    const { state, questions } = this.#chat;
    const { finished } = state;
    const page = this.#page(width);
    const [question] = state.questions;
    if (!question) {
      this.#questionWidth = undefined;
      return this.#printed(finished.length, page);
    }
    const index = finished.findIndex(
      (part) => part.kind === "question" && part.question.key === question.key,
    );
    const lines = this.#printed(index + 1, page);
    const isNew = index >= 0;
    // Lines that the terminal wraps itself could look like others.
    const again = !isNew && this.#questionWidth !== undefined && this.#questionWidth > width;
    if (isNew || again) this.#questionWidth = width;
    questions.wasShown(question.key);
    return again ? [...lines, ...partLines({ kind: "question", question }, page)] : lines;
  }

  #printed(count: number, page: PageSize): readonly string[] {
    if (count === 0) return [];
    const lines = this.#chat.state.finished.slice(0, count).flatMap((part) => partLines(part, page));
    this.#chat.dispatch({ type: "printed", count });
    return lines;
  }

  #typed(text: string): void {
    // The input is empty before what was in it is submitted.
    if (text === "") [this.#submittedSince, this.#typingSince] = [this.#typingSince, undefined];
    else this.#typingSince ??= this.#options.now().getTime();
  }

  #submit(text: string): void {
    const began = this.#submittedSince;
    if (text.trim() === "") return;
    this.#editor.addToHistory(text);
    const { question } = this.#chat;
    const name = commandIn(text)?.name;
    if (
      question &&
      name !== undefined &&
      ANSWERS.has(name) &&
      !this.#chat.questions.wasShownBefore(question.key, began ?? 0)
    ) {
      this.#chat.note("The question came while you typed. Read it, then answer.", "warn");
      return;
    }
    void submit(this.#chat, text);
  }

  /** Handles a key of the terminal's own; returns whether it was one. */
  #key(data: string): boolean {
    // Some terminals also report that a key was let go.
    if (isKeyRelease(data)) return false;
    const chat = this.#chat;
    const { state, question, questions } = chat;
    const counts = question !== undefined && questions.counts(question.key);
    questions.pressed();
    if (matchesKey(data, "ctrl+c")) {
      this.#picker?.close();
      if (!chat.interrupt()) this.#editor.setText("");
      return true;
    }
    if (state.isLeaving) chat.dispatch({ type: "leaving", isLeaving: false });
    if (this.#picker) return false;
    if (state.isAnswering) {
      if (counts) this.#answerKey(data);
      return true;
    }
    if (matchesKey(data, "tab") && question && !this.#editor.isShowingAutocomplete()) {
      if (counts) chat.dispatch({ type: "answering", isAnswering: true });
      return true;
    }
    if (matchesKey(data, "ctrl+d") && this.#editor.getText() === "") {
      chat.leave();
      return true;
    }
    if (!matchesKey(data, "escape") || this.#editor.isShowingAutocomplete()) return false;
    void chat.cancel().catch(() => undefined);
    return true;
  }

  #answerKey(data: string): void {
    const chat = this.#chat;
    const { question } = chat;
    if (data === "a") void chat.answer("allow_once");
    else if (data === "A" || matchesKey(data, "shift+a")) void chat.answer("allow_always");
    else if (data === "d") void chat.answer("deny");
    else if (data === "s" && question) chat.questions.putOff(question);
    else if (matchesKey(data, "escape") || matchesKey(data, "tab"))
      chat.dispatch({ type: "answering", isAnswering: false });
  }
}

/** Codes of a drawn line that are the library's own, or a hidden character of what was typed. */
const DRAWN = new RegExp(`(\\u001b\\[[\\d;]*m|${CURSOR_MARKER})|${HIDDEN.source}`, "gu");

/** A line of the input in which hidden characters take their room and show nothing. */
function withoutHidden(line: string): string {
  return line.replace(DRAWN, (found, own?: string) => own ?? " ".repeat(visibleWidth(found)));
}

function listTheme({ accent, strong, dim }: Style): SelectListTheme {
  return { selectedPrefix: accent, selectedText: strong, description: dim, scrollInfo: dim, noMatch: dim };
}
