import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { expect } from "vitest";
import { folder, reinsCommand } from "./reins.ts";

/** Where the screens of the tests are kept. */
const SCREENS =
  process.env.REINS_ARTEFACTS ?? fileURLToPath(new URL("../../.artefacts/screens", import.meta.url));

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly environment?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** What runs on the terminal in place of `reins`. */
  readonly command?: readonly string[];
}

const running = new Set<ScreenTerminal>();

/** Ends what a test left running. */
export function closeTerminals(): void {
  for (const terminal of running) terminal.kill();
}

/** `reins` on a pseudo-terminal of its own, with the screen that a person would see. */
export class ScreenTerminal {
  /** Everything that was written to the terminal. */
  output = "";
  readonly ended: Promise<number>;
  readonly #screen: InstanceType<typeof xterm.Terminal>;
  readonly #process: ReturnType<typeof spawn>;

  constructor(args: readonly string[], options: TerminalOptions = {}) {
    const { columns: cols = 80, rows = 30, environment, cwd = folder } = options;
    const [command = "", ...own] = options.command ?? reinsCommand;
    this.#screen = new xterm.Terminal({ cols, rows, scrollback: 10_000, allowProposedApi: true });
    this.#process = spawn(command, [...own, ...args], {
      ...{ name: environment?.TERM ?? "xterm-256color", cols, rows, cwd },
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        LANG: "C.UTF-8",
        TERM: "xterm-256color",
        REINS_ACP_REGISTRY_URL: "off",
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        ...environment,
      },
    });
    const { promise, resolve } = Promise.withResolvers<number>();
    this.ended = promise;
    this.#process.onData((text) => {
      this.output += text;
      this.#screen.write(text);
    });
    // The screen answers the questions of the program, as terminals do.
    this.#screen.onData((text) => this.#process.write(text));
    this.#process.onExit(({ exitCode }) => {
      running.delete(this);
      resolve(exitCode);
    });
    running.add(this);
  }

  /** The screen, and what scrolled out of it, without empty lines at the end. */
  get text(): string {
    const { active } = this.#screen.buffer;
    const lines = Array.from({ length: active.length }, (_, row) =>
      active.getLine(row)?.translateToString(true),
    );
    return lines.join("\n").trimEnd();
  }

  /** What is visible now. */
  get visible(): string {
    const { active } = this.#screen.buffer;
    const lines = Array.from({ length: this.#screen.rows }, (_, row) =>
      active.getLine(active.baseY + row)?.translateToString(true),
    );
    return lines.join("\n").trimEnd();
  }

  /** How many lines of the screen the terminal itself wrapped. */
  get wrapped(): number {
    const { active } = this.#screen.buffer;
    return Array.from({ length: active.length }, (_, row) => active.getLine(row)).filter(
      (line) => line?.isWrapped,
    ).length;
  }

  type(text: string): void {
    this.#process.write(text);
  }

  resize(columns: number, rows: number): void {
    this.#screen.resize(columns, rows);
    this.#process.resize(columns, rows);
  }

  /** Waits until a text is on the screen or scrolled out of it. */
  async shows(text: string | RegExp): Promise<void> {
    await expect
      .poll(() => this.text)
      .toMatch(text instanceof RegExp ? text : new RegExp(text.replace(/[^\w\s]/g, "\\$&")));
  }

  /** Opens the answers of a question and gives one. Keys that come with the question do not count, so it tries again. */
  async answer(key: string, text: string): Promise<void> {
    await this.#pressUntil("\t", "[Esc] back");
    await this.#pressUntil(key, text);
  }

  async #pressUntil(key: string, text: string): Promise<void> {
    const pressing = setInterval(() => !this.text.includes(text) && this.type(key), 300);
    try {
      await this.shows(text);
    } finally {
      clearInterval(pressing);
    }
  }

  /** Keeps the screen as a file. */
  keep(name: string): void {
    mkdirSync(SCREENS, { recursive: true });
    writeFileSync(join(SCREENS, `${name}.txt`), `${this.text}\n`);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}
