import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { text as readAll } from "node:stream/consumers";
import { type Channel, CODE, Peer, RpcError, readResult, updateIn } from "@reins/acp";
import { command, homeInput } from "../../command.ts";
import { CliError, EXIT, type ExitCode } from "../../errors.ts";
import { requireFolder } from "../../files.ts";
import { openHome } from "../../home.ts";
import { openAgentChannel } from "../../hosting/agent-channel.ts";
import { agentError } from "../../hosting/agent-error.ts";
import { ensureInstalled } from "../../hosting/install-agent.ts";
import { logLevel, openLog } from "../../log.ts";
import { noticeOnStderr } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { watchForStop } from "../../serving/stop.ts";
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
    home: homeInput("the home folder (default: reins in the user's data folder)"),
    json: ["--json", "one JSON document for each message"],
  },
  examples: [
    'reins run "what is in this folder?" --agent claude',
    'git diff | reins run "review this change" --agent codex',
    'reins run "tidy up" --agent claude --cwd ~/project --mode plan',
  ],
  codes: {
    done: "the turn ended",
    failed: "it failed, was rejected or cancelled",
    usage: "wrong usage",
    taken: "another process holds the home",
  },
  async run({ prompt, home, cwd = ".", agent, mode, json = false }, { verbose, notice }) {
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
      const task = new Task(agents.channel, { agent, cwd: resolve(cwd), mode, json });
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
  readonly json: boolean;
}

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
    const { agent, mode, cwd } = this.#options;
    const _meta = { reins: { agent } };
    await this.#peer.request("initialize", { protocolVersion: 1, clientCapabilities: {}, _meta });
    const begun = await this.#peer.request("session/new", { cwd, mcpServers: [], _meta });
    const { sessionId } = readResult("session/new", begun);
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
