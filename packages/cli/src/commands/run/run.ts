import { createInterface } from "node:readline/promises";
import { text as readAll } from "node:stream/consumers";
import { type Connection, type JsonObject, membersOf, type RequestId } from "@reins/host";
import { CliError } from "../../errors/cli-error.ts";
import { EXIT } from "../../exit-codes.ts";
import { homeFolder, openHome } from "../../home.ts";
import { OpenHosting } from "../../hosting/open-hosting.ts";
import { ledgerFault } from "../../ledger/fault.ts";
import { logLevel } from "../../log/level.ts";
import { openLog } from "../../log/logger.ts";
import { watchForStop } from "../../serving/stop.ts";
import { questionText } from "./question.ts";
import { COLOURED, PLAIN, Rendering } from "./rendering.ts";

/** The flags of `reins run` as they were written. */
export interface RunFlags {
  readonly verbose?: boolean;
  readonly home?: string;
  readonly agent: string;
  readonly cwd?: string;
  readonly mode?: string;
  readonly json?: boolean;
}

/** Gives an agent one task and shows what becomes of it; the exit code. */
export async function run(prompt: string, flags: RunFlags): Promise<number> {
  const home = homeFolder(flags.home, process.env);
  await openHome(home);
  const log = await openLog(process.stderr, logLevel(flags.verbose, { REINS_LOG: "warn", ...process.env }));
  const opened = await OpenHosting.open(home, log).catch((error: unknown) => {
    throw ledgerFault(error, home);
  });
  const stop = watchForStop();
  try {
    const task = new Task(opened, flags);
    const text = process.stdin.isTTY ? prompt : `${prompt}\n\n${await readAll(process.stdin)}`.trim();
    if (text === "")
      throw new CliError("There is nothing to do in an empty prompt.", { next: 'Say what: reins run "…"' });
    return await task.run(text, stop.requested);
  } finally {
    stop.dispose();
    await opened.close();
  }
}

/** One task in one session. */
class Task {
  readonly #opened: OpenHosting;
  readonly #flags: RunFlags;
  readonly #rendering = new Rendering(process.stdout.hasColors?.() ? COLOURED : PLAIN);

  constructor(opened: OpenHosting, flags: RunFlags) {
    this.#opened = opened;
    this.#flags = flags;
  }

  async run(text: string, stop: Promise<unknown>): Promise<number> {
    const { agent, cwd = process.cwd(), mode } = this.#flags;
    const { hub } = this.#opened.hosting;
    const outlet = {
      send: (message: JsonObject) => this.#take(connection, message),
      failed: (error: unknown) => {
        throw error;
      },
    };
    const connection: Connection = await hub.connect({
      principal: this.#opened.harness.identity.local(),
      agent,
      outlet,
    });
    const { signal } = new AbortController();
    const begun = membersOf(await connection.request("session/new", { cwd, mcpServers: [] }, signal));
    const { sessionId } = begun;
    if (mode !== undefined) await connection.request("session/set_mode", { sessionId, modeId: mode }, signal);
    void stop.then(() => connection.notification("session/cancel", { sessionId }));
    const prompt = [{ type: "text", text }];
    const answer = membersOf(await connection.request("session/prompt", { sessionId, prompt }, signal));
    this.#say(this.#rendering.line(""));
    if (answer.stopReason === "end_turn") return EXIT.done;
    process.stderr.write(`reins: the turn ended with ${String(answer.stopReason)}\n`);
    return EXIT.failed;
  }

  #take(connection: Connection, message: JsonObject): void {
    if (this.#flags.json) process.stdout.write(`${JSON.stringify(message)}\n`);
    const { id, method, params } = message;
    if (method === "session/update" && !this.#flags.json)
      this.#say(this.#rendering.show(membersOf(membersOf(params).update)));
    if (method === "session/request_permission" && (typeof id === "string" || typeof id === "number"))
      void this.#ask(connection, id, membersOf(params));
  }

  /** Asks on the terminal; without one, the question waits for `reins approvals`. */
  async #ask(connection: Connection, id: RequestId, params: JsonObject): Promise<void> {
    const { text, choices } = questionText(params);
    this.#say(this.#rendering.line(text));
    if (!process.stdin.isTTY) return;
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    try {
      for (;;) {
        const chosen = choices.get((await terminal.question("> ")).trim());
        if (chosen === undefined) continue;
        connection.answer(id, { outcome: { outcome: "selected", optionId: chosen } });
        return;
      }
    } finally {
      terminal.close();
    }
  }

  #say(text: string): void {
    if (!this.#flags.json && text !== "") process.stdout.write(text);
  }
}
