import { type JsonObject, membersOf } from "@reins/acp";
import type { NativeClient } from "./native-client.ts";

/** How a turn went, in milliseconds from its prompt on. */
export interface TurnTimes {
  readonly firstWords: number;
  readonly end: number;
}

/** Turns, and how many of them there were in a second. */
export interface Turns {
  readonly times: readonly TurnTimes[];
  readonly rate: number;
}

const COUNTED = 40;
const COUNT = Array.from({ length: COUNTED }, (_, index) => index + 1).join(" ");

interface Running {
  readonly began: number;
  firstWords: number | undefined;
  said: string;
}

/** Many sessions of one client, whose every turn has to come to its end with its words in order. */
export class Crowd {
  readonly #client: NativeClient;
  readonly #running = new Map<string, Running>();

  constructor(client: NativeClient) {
    this.#client = client;
    client.onUpdate = (session, update) => this.#take(session, update);
  }

  /** Turns in so many sessions at once, so many times over, each time in sessions of their own. */
  async turns(sessions: number, rounds: number): Promise<Turns> {
    const times: TurnTimes[] = [];
    let spent = 0;
    for (let round = 0; round < rounds; round += 1) {
      const ids = await Promise.all(Array.from({ length: sessions }, () => this.#begin()));
      const began = performance.now();
      const looked = await Promise.all(
        ids.map((id) => this.#turn(id, "what is in this folder", "README.md")),
      );
      spent += performance.now() - began;
      times.push(...looked);
      // The second turn shows that a session keeps its order after a first one.
      await Promise.all(ids.map((id) => this.#turn(id, `count to ${COUNTED}`, COUNT)));
      await Promise.all(ids.map((sessionId) => this.#client.ask("session/close", { sessionId })));
    }
    return { times, rate: (times.length / spent) * 1_000 };
  }

  async #begin(): Promise<string> {
    const { workspace: cwd } = this.#client;
    return String((await this.#client.ask("session/new", { cwd, mcpServers: [] })).sessionId);
  }

  async #turn(sessionId: string, text: string, expected: string): Promise<TurnTimes> {
    const running: Running = { began: performance.now(), firstWords: undefined, said: "" };
    this.#running.set(sessionId, running);
    const prompt = [{ type: "text", text }];
    const { stopReason } = await this.#client.ask("session/prompt", { sessionId, prompt });
    const end = performance.now() - running.began;
    if (stopReason !== "end_turn" || !running.said.includes(expected))
      throw new Error(`a turn ended with ${String(stopReason)} and these words: ${running.said}`);
    return { firstWords: running.firstWords ?? end, end };
  }

  #take(session: string, { sessionUpdate, content }: JsonObject): void {
    const running = this.#running.get(session);
    if (!running || sessionUpdate !== "agent_message_chunk") return;
    running.firstWords ??= performance.now() - running.began;
    running.said += String(membersOf(content).text ?? "");
  }
}
