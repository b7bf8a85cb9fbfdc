import type { OperatedHome } from "./operated-home.ts";
import type { Ended, Reins } from "./reins.ts";

/** A JSON-RPC message, taken apart. */
export type Message = Readonly<Record<string, unknown>>;

/** Speaks raw ACP with a `reins acp`. */
export class Editor {
  readonly #reins: Reins;
  #next = 1;

  constructor(reins: Reins) {
    this.#reins = reins;
  }

  /** All that it was sent. */
  get got(): readonly Message[] {
    return this.#reins.log;
  }

  /** Sends a message as it is. */
  send(message: Message): void {
    this.#reins.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** Asks, and gives the whole answer. */
  async ask(method: string, params: object): Promise<Message> {
    const id = this.#next++;
    this.send({ id, method, params });
    return this.until((message) => message.id === id && message.method === undefined);
  }

  /** Waits until something has come that fits. */
  async until(fits: (message: Message) => boolean): Promise<Message> {
    await this.#reins.until(() => this.got.some(fits));
    return this.got.find(fits) ?? {};
  }

  /** Hangs up. */
  end(): void {
    this.#reins.stdin.end();
  }

  /** Settles when the other side has ended. */
  get ended(): Promise<Ended> {
    return this.#reins.ended;
  }

  /** Begins a session in the workspace of a home. */
  async begin(home: OperatedHome): Promise<string> {
    const { result } = await this.ask("session/new", { cwd: home.workspace, mcpServers: [] });
    return String((result as { sessionId: string }).sessionId);
  }

  /** Prompts, one line for each step. */
  prompt(sessionId: string, ...steps: string[]): Promise<Message> {
    return this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: steps.join("\n") }] });
  }
}
