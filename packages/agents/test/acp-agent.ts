import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { type AgentLaunch, sessionMeta, typedOption } from "../src/agent-launch.ts";

/** A JSON-RPC message, as loosely as a test needs it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
type Message = any;

/** How a client answers when an agent asks for a permission. */
export type Answer = (ask: PermissionAsk) => "allow_once" | "reject_once" | "cancelled";

/** What an agent asked permission for. */
export interface PermissionAsk {
  readonly toolCall: Message;
  readonly options: readonly { readonly optionId: string; readonly kind: string }[];
}

/** What a client sends along when it opens a session. */
export interface SessionSettings {
  readonly mcpServers?: readonly unknown[];
  /** As a client would send it, before the launch's own is laid over. */
  readonly meta?: Readonly<Record<string, unknown>>;
}

const STDERR_KEPT = 20_000;

/** A real agent on the other end of two pipes, spoken to in raw JSON-RPC. */
export class AcpAgent implements AsyncDisposable {
  /** What the agent asked permission for, in order. */
  readonly asks: PermissionAsk[] = [];
  /** Every `session/update`, in order. */
  readonly updates: Message[] = [];
  /** Every other request the agent made. */
  readonly requests: Message[] = [];
  /** How permissions are answered from now on. */
  answer: Answer = () => "reject_once";
  stderr = "";
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #launch: AgentLaunch;
  readonly #pending = new Map<number, { resolve(result: Message): void; reject(error: Error): void }>();
  #next = 1;

  private constructor(launch: AgentLaunch, child: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.#launch = launch;
    this.#child = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr = (this.stderr + text).slice(-STDERR_KEPT);
    });
    createInterface({ input: child.stdout }).on("line", (line) => this.#receive(line));
    child.on("close", (code, signal) => {
      for (const { reject } of this.#pending.values()) {
        reject(new Error(`The agent ended (${code ?? signal}).\n${this.stderr}`));
      }
      this.#pending.clear();
    });
  }

  /** Writes the launch's files, starts the agent and says hello. */
  static async start(launch: AgentLaunch, cwd: string): Promise<AcpAgent> {
    await mkdir(launch.env.TMPDIR ?? "", { recursive: true });
    for (const [path, text] of Object.entries(launch.files)) {
      const file = join(launch.env.HOME ?? "", path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    const child = spawn(launch.command, launch.args, {
      cwd,
      env: { ...launch.env },
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    const agent = new AcpAgent(launch, child);
    await agent.request("initialize", {
      protocolVersion: 1,
      clientInfo: { name: "reins-test", version: "0" },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    return agent;
  }

  /** Opens a session as a governed client does. */
  async open(cwd: string, settings: SessionSettings = {}): Promise<string> {
    const { sessionId } = await this.#session("session/new", { cwd }, settings);
    await this.#setMode(sessionId);
    return sessionId;
  }

  /** Loads a session that this agent, or an earlier process of it, has had. */
  async load(sessionId: string, cwd: string, settings: SessionSettings = {}): Promise<void> {
    await this.#session("session/load", { sessionId, cwd }, settings);
    await this.#setMode(sessionId);
  }

  /** Loads a session without replaying it. */
  async resume(sessionId: string, cwd: string, settings: SessionSettings = {}): Promise<void> {
    await this.#session("session/resume", { sessionId, cwd }, settings);
    await this.#setMode(sessionId);
  }

  /** Runs one turn; gives back why it stopped. */
  async prompt(sessionId: string, text: string): Promise<string> {
    const { stopReason } = await this.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text }],
    });
    return stopReason;
  }

  /** What the agent has said so far. */
  get said(): string {
    return this.updates
      .filter(({ update }) => update.sessionUpdate === "agent_message_chunk")
      .map(({ update }) => update.content.text ?? "")
      .join("");
  }

  async request(method: string, params: unknown): Promise<Message> {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    this.#send({ jsonrpc: "2.0", id, method, params });
    return await answer;
  }

  notify(method: string, params: unknown): void {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  /** Ends the agent and all it started in its process group. */
  async stop(): Promise<void> {
    const closed = this.#child.exitCode === null && this.#child.signalCode === null;
    const ended = closed ? once(this.#child, "close") : undefined;
    try {
      process.kill(-(this.#child.pid ?? 0), "SIGKILL");
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #session(
    method: string,
    params: object,
    { mcpServers = [], meta }: SessionSettings,
  ): Promise<Message> {
    const _meta = sessionMeta(this.#launch, meta).meta;
    return await this.request(method, { ...params, mcpServers, _meta });
  }

  async #setMode(sessionId: string): Promise<void> {
    const { mode: modeId, configOptions } = this.#launch;
    if (modeId !== undefined) await this.request("session/set_mode", { sessionId, modeId });
    for (const [configId, value] of Object.entries(configOptions)) {
      await this.request("session/set_config_option", typedOption({ sessionId, configId, value }));
    }
  }

  #send(message: unknown): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #receive(line: string): void {
    const message: Message = JSON.parse(line);
    if (message.method === undefined) this.#settle(message);
    else if (message.method === "session/update") this.updates.push(message.params);
    else if (message.method === "session/request_permission") this.#permit(message);
    else if (message.id !== undefined) {
      this.requests.push(message);
      this.#send({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "Method not found" } });
    }
  }

  #settle({ id, result, error }: Message): void {
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (error)
      waiting?.reject(new Error(`${error.code}: ${error.message} ${JSON.stringify(error.data ?? "")}`));
    else waiting?.resolve(result);
  }

  #permit({ id, params }: Message): void {
    this.asks.push(params);
    const wanted = this.answer(params);
    const option = params.options.find(({ kind }: Message) => kind === wanted);
    const outcome = option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" };
    this.#send({ jsonrpc: "2.0", id, result: { outcome } });
  }
}
