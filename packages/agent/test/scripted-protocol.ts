import type { Declared, DeclaringMessage, ProtocolService } from "../src/tools/host-services.ts";

/** What the runtime makes of one message; the last one repeats. */
export type ScriptedDeclared =
  | { readonly observation: string }
  | { readonly over: string }
  | ((message: DeclaringMessage, signal: AbortSignal) => Promise<Declared>);

/** A runtime of action graphs with a script. It records every message. */
export class ScriptedProtocol implements ProtocolService {
  /** Every message that was declared. */
  readonly declared: DeclaringMessage[] = [];
  readonly turns: string[] = [];
  /** How many characters each transcript might have. */
  readonly rooms: (number | undefined)[] = [];
  #seen = 0;
  #script: ScriptedDeclared[];

  constructor(...script: readonly ScriptedDeclared[]) {
    this.#script = [...script];
  }

  async describe() {
    const tool = { name: "AgentProtocolOutput", description: "Declares.", parameters: { type: "object" } };
    return { tool, instructions: "Declare with AgentProtocolOutput. Executors: read_file." };
  }

  async begin(_sessionId: string, text: string): Promise<void> {
    this.turns.push(`## User request\n\n${text}`);
  }

  async transcript(
    _sessionId: string,
    { unseen = false, most }: { readonly unseen?: boolean; readonly most?: number } = {},
  ): Promise<string> {
    if (!unseen) this.rooms.push(most);
    const turns = unseen ? this.turns.slice(this.#seen) : this.turns;
    return [...turns, "Decide the next step."].join("\n\n");
  }

  async declare(_sessionId: string, message: DeclaringMessage, signal: AbortSignal): Promise<Declared> {
    this.declared.push(message);
    this.#seen = this.turns.length;
    const next = (this.#script.length > 1 ? this.#script.shift() : this.#script[0]) ?? { over: message.text };
    if (typeof next === "function") return next(message, signal);
    if ("over" in next) {
      this.turns.push(`## Assistant answer\n\n${next.over}`);
      return { kind: "over", text: next.over };
    }
    this.turns.push(next.observation);
    return { kind: "again" };
  }
}
