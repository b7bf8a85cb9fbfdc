import { type Component, type Terminal, TuiMainScreen, visibleWidth } from "@earendil-works/pi-tui";
import { guarded } from "./text.ts";

/** Where a screen gets the lines that are finished. */
export interface FinishedLines {
  /** Returns lines that go above the live part, for good. Called once for each drawing. */
  take(width: number): readonly string[];
}

const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";
/**
 * Erases the row of the cursor and all below it. In two steps: what is erased from the first row on in one, tmux keeps in
 * its history.
 */
const ERASE_BELOW = "\u001b7\u001b[B\u001b[J\u001b8\u001b[2K";

/**
 * Draws on the terminal's main screen. What is finished is written once and scrolls into the terminal's own scrollback;
 * only the live part below it is drawn again. Nothing above is erased, whatever the size becomes, and every line passes
 * {@link guarded}.
 */
export class ScrollbackScreen extends TuiMainScreen {
  readonly #feed: FinishedLines;
  /** The live lines on the screen. */
  #drawn: readonly string[] = [];
  /** Where the cursor was left among them. */
  #cursor = { row: 0, column: 0 };
  #width = 0;

  constructor(terminal: Terminal, feed: FinishedLines, live: Component) {
    super(terminal);
    this.#feed = feed;
    this.addChild(live);
  }

  protected override doRender(): void {
    if (this.stopped) return;
    const { columns: width, rows: height } = this.terminal;
    const finished = this.#feed.take(width).map(guarded);
    const rendered = this.render(width);
    const cursor = this.extractCursorPosition(rendered, height);
    const cut = Math.max(0, rendered.length - height);
    const live = rendered.slice(cut).map(guarded);
    const isWhole = finished.length > 0 || width !== this.#width;
    const change = isWhole
      ? this.#redrawn([...finished, ...live], width)
      : this.#changed(live, commonLines(this.#drawn, live));
    const row = change === "" ? this.#cursor.row : Math.max(live.length - 1, 0);
    const target = cursor ? { row: Math.max(cursor.row - cut, 0), column: cursor.col } : { row, column: 0 };
    const place = `${moved(target.row - row)}\u001b[${target.column + 1}G`;
    if (change !== "" || target.row !== this.#cursor.row || target.column !== this.#cursor.column)
      this.terminal.write(`${BEGIN}${change}${place}${END}`);
    this.#drawn = live;
    this.#width = width;
    this.#cursor = target;
  }

  /** Clears the live part, so that the shell continues below what is finished. */
  protected override beforeTerminalStop(): void {
    const { columns: width } = this.terminal;
    const last = this.#feed.take(width).map(guarded);
    this.terminal.write(this.#redrawn([...last, ""], width));
    this.#drawn = [];
    this.#cursor = { row: 0, column: 0 };
  }

  /** Draws everything the next time. */
  protected override resetRenderState(): void {
    this.#width = 0;
  }

  /** Erases the live part and writes lines in its place; the cursor ends on the last one. */
  #redrawn(lines: readonly string[], width: number): string {
    return `\r${moved(-this.#above(width))}${ERASE_BELOW}${lines.join("\r\n")}`;
  }

  /** Writes the live lines from the first that changed on. */
  #changed(live: readonly string[], same: number): string {
    const { length } = this.#drawn;
    if (same === length && same === live.length) return "";
    // A row below the last one does not exist until a line feed makes it.
    const from = Math.max(0, Math.min(same, length - 1, live.length - 1));
    return `\r${moved(from - this.#cursor.row)}${ERASE_BELOW}${live.slice(from).join("\r\n")}`;
  }

  /** How many rows the cursor is below the first live line, as terminals wrap them when the width changes. */
  #above(width: number): number {
    const { row, column } = this.#cursor;
    const rows = (columns: number) => Math.max(1, Math.ceil(columns / width));
    const before = this.#drawn.slice(0, row).reduce((sum, line) => sum + rows(visibleWidth(line)), 0);
    return before + Math.floor(column / width);
  }
}

/** Moves the cursor by rows, down or up. */
function moved(rows: number): string {
  if (rows === 0) return "";
  return rows > 0 ? `\u001b[${rows}B` : `\u001b[${-rows}A`;
}

function commonLines(one: readonly string[], other: readonly string[]): number {
  let same = 0;
  while (same < one.length && same < other.length && one[same] === other[same]) same += 1;
  return same;
}
