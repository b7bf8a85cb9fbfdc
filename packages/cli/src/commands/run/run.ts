import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { text as readAll } from "node:stream/consumers";
import { type Channel, CODE, Peer, RpcError, readResult, sandboxMeta, updateIn } from "@reins/acp";
import { command, homeInput } from "../../command.ts";
import { CliError, EXIT, type ExitCode } from "../../errors.ts";
import { requireFolder } from "../../files.ts";
import { openHome } from "../../home.ts";
import { openAgentChannel } from "../../hosting/agent-channel.ts";
import { agentError } from "../../hosting/agent-error.ts";
import { ensureInstalled } from "../../hosting/install-agent.ts";
import { logLevel, openLog } from "../../log.ts";
import { noticeOnStderr, printableLine } from "../../output.ts";
import { watchForStop } from "../../serving/stop.ts";
import { choiceNamed, sessionSettings } from "../../terminal/settings.ts";
import { COLOURED, PLAIN, type Question, questionText, Rendering } from "./rendering.ts";

/** Runs one prompt and shows its progress. */
export const runCommand = command({
  description:
    "Runs an agent in this folder, shows what it says and does, and prompts here for approvals.\n" +
    "Without a terminal, approvals wait for reins approvals.",
  inputs: {
    prompt: ["<prompt>", "the prompt; stdin is appended to it"],
    agent: ["--agent <id>", "the agent; see reins agents list", { default: ["native"] }],
    cwd: ["--cwd <folder>", "where it works (default: here)"],
    mode: ["--mode <mode>", "the mode of the session"],
    model: ["--model <model>", "the model of the session"],
    continue: ["--continue", "continue the last session in this folder, with that agent"],
    resume: ["--resume <id>", "continue a session, by its id or the beginning of it"],
    home: homeInput("the home folder (default: reins in the user's data folder)"),
    json: ["--json", "one JSON document for each message"],
  },
  examples: [
    'reins run "what is in this folder?" --agent claude',
    'git diff | reins run "review this change" --agent codex',
    'reins run "tidy up" --agent claude --cwd ~/project --mode plan',
    'reins run "and now the tests" --continue --model demo',
  ],
  codes: {
    done: "the turn ended",
    failed: "it failed, was rejected or cancelled",
    usage: "wrong usage",
    taken: "another process holds the home",
  },
  async run(given, { verbose, notice }) {
    const { prompt, home, cwd = ".", agent, mode, model, resume, json = false } = given;

    const text = process.stdin.isTTY ? prompt : `${prompt}\n\n${await readAll(process.stdin)}`.trim();
    if (text.trim() === "")
      throw new CliError("The prompt is empty.", { next: 'Give a prompt: reins run "…"' });
    await requireFolder(resolve(cwd), "--cwd");
    await openHome(home, notice);
    const log = await openLog(process.stderr, logLevel(verbose, { REINS_LOG: "warn", ...process.env }));
    const entry = await ensureInstalled(home, agent, json);
    const agents = await openAgentChannel(home, agent, log);
    const stop = watchForStop();
    try {
      const from = resume ?? (given.continue ? LATEST : undefined);
      const task = new Task(agents.channel, { agent, cwd: resolve(cwd), mode, model, from, json });
      return { exitCode: await task.run(text, stop.requested) };
    } catch (error) {
      throw agentError(error, agent, entry);
    } finally {
      stop.dispose();
      await agents.close();
    }
  },
});

interface TaskOptions {
  readonly agent: string;
  readonly cwd: string;
  readonly mode: string | undefined;
  readonly model: string | undefined;
  /** The session to continue: its id, the beginning of it, or the last one. */
  readonly from: string | typeof LATEST | undefined;
  readonly json: boolean;
}

const LATEST = Symbol("the last session");

class Task {
  readonly #options: TaskOptions;
  readonly #peer: Peer;
  #asked: Promise<unknown> = Promise.resolve();
  readonly #rendering = new Rendering(process.stdout.hasColors?.() ? COLOURED : PLAIN);

  constructor(channel: Channel, options: TaskOptions) {
    this.#options = options;
    this.#peer = new Peer(channel, {
      request: (method, params, { signal }) => this.#answer(method, params, signal),
      notification: (method, params) => this.#take(method, params),
    });
  }

  async run(text: string, stop: Promise<unknown>): Promise<ExitCode> {
    const { agent, mode, model } = this.#options;
    const _meta = { reins: { agent } };
    await this.#peer.request("initialize", { protocolVersion: 1, clientCapabilities: {}, _meta });
    const { sessionId, settings } = await this.#open();
    if (model !== undefined) await this.#setModel(sessionId, settings, model);
    if (mode !== undefined) await this.#peer.request("session/set_mode", { sessionId, modeId: mode });
    let stopped = false;
    const cancel = () => {
      stopped = true;
      return this.#peer.notify("session/cancel", { sessionId });
    };
    // The agent may have ended already.
    void stop.then(cancel).catch(() => undefined);
    const prompt = [{ type: "text", text }];
    const result = await this.#peer.request("session/prompt", { sessionId, prompt });
    if (this.#options.json) process.stdout.write(`${JSON.stringify({ result })}\n`);
    this.#say(this.#rendering.end());
    // Not every agent reports it.
    const reason = stopped ? "cancelled" : String(readResult("session/prompt", result).stopReason);
    if (reason === "end_turn") return EXIT.done;
    noticeOnStderr(this.#options.json)(`The turn ended with: ${printableLine(reason)}`);
    return EXIT.failed;
  }

  /** Begins a session or continues one. */
  async #open(): Promise<{ readonly sessionId: string; readonly settings: unknown }> {
    const { agent, cwd, from } = this.#options;
    if (from !== undefined) {
      const sessionId = await this.#earlier(from);
      return { sessionId, settings: await this.#peer.request("session/resume", { sessionId }) };
    }
    const _meta = { reins: { agent } };
    const settings = await this.#peer.request("session/new", { cwd, mcpServers: [], _meta });
    return { sessionId: String(readResult("session/new", settings).sessionId), settings };
  }

  /** The session of this folder and agent that was used last, or the one whose id begins so. */
  async #earlier(from: string | typeof LATEST): Promise<string> {
    const { agent, cwd } = this.#options;
    const next = "To see them: reins, then /sessions.";
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = readResult(
        "session/list",
        await this.#peer.request("session/list", cursor ? { cursor } : {}),
      );
      for (const session of page.sessions) {
        const { sessionId = "" } = session;
        const { agent: whose } = sandboxMeta(session);
        if (from === LATEST ? session.cwd === cwd && whose === agent : sessionId.startsWith(from))
          found.push(sessionId);
      }
      cursor = page.nextCursor;
    } while (cursor !== undefined && (from !== LATEST || found.length === 0));
    const [first] = found;
    if (first === undefined)
      throw new CliError(
        from === LATEST ? `${agent} has no session in ${cwd}.` : `No session's id begins with ${from}.`,
        { next, exitCode: EXIT.failed },
      );
    if (from !== LATEST && found.length > 1 && !found.includes(from))
      throw new CliError(`Several sessions' ids begin with ${from}.`, { next });
    return from !== LATEST && found.includes(from) ? from : first;
  }

  /** Sets the model as the agent offers it: as a setting, or by the method for it. */
  async #setModel(sessionId: string, given: unknown, word: string): Promise<void> {
    const setting = sessionSettings(given, []).find(({ category }) => category === "model");
    const value = setting && choiceNamed(setting, word);
    if (setting?.kind === "option" && value !== undefined)
      await this.#peer.request("session/set_config_option", { sessionId, configId: setting.id, value });
    else await this.#peer.request("session/set_model", { sessionId, modelId: value ?? word });
  }

  #take(method: string, params: unknown): void {
    if (this.#options.json) process.stdout.write(`${JSON.stringify({ method, params })}\n`);
    else if (method === "session/update") this.#say(this.#rendering.show(updateIn(params).update));
  }

  async #answer(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    if (method !== "session/request_permission")
      throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
    if (this.#options.json) {
      process.stdout.write(`${JSON.stringify({ method, params })}\n`);
      return answeredElsewhere(signal);
    }
    // One at a time: a terminal has one line to answer on.
    const asking = this.#asked.then(() => this.#ask(questionText(params), signal));
    this.#asked = asking.catch(() => undefined);
    return { outcome: { outcome: "selected", optionId: await asking } };
  }

  async #ask(question: Question, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    this.#say(this.#rendering.line(question.text));
    return process.stdin.isTTY ? readChoice(question, signal) : answeredElsewhere(signal);
  }

  #say(text: string): void {
    if (!this.#options.json && text !== "") process.stdout.write(text);
  }
}

/** Reads the user's choice. A closed terminal leaves the answer to others. */
async function readChoice({ choices }: Question, signal: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new AbortController();
  terminal.once("close", () => closed.abort(new Error("the terminal was closed")));
  // readline keeps Ctrl-C to itself.
  terminal.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const waiting = AbortSignal.any([signal, closed.signal]);
  try {
    for (;;) {
      const option = choices.get((await terminal.question("> ", { signal: waiting })).trim());
      if (option !== undefined) return option;
    }
  } finally {
    terminal.close();
  }
}

/** Waits until the request is answered with `reins approvals` and cancelled here. */
function answeredElsewhere(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}
