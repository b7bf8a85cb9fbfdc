import type { Model, ModelEvent, ModelInfo, ModelRequest } from "../src/models/model.ts";
import type { Models } from "../src/models/models.ts";

/** The reply to one request: a text, events or an error. */
export type ScriptedReply = string | readonly ModelEvent[] | Error;

/** A model in this process with scripted replies. It records every request. */
export class ScriptedModel implements Model {
  readonly info: ModelInfo;
  /** Every request, in order. */
  readonly asked: ModelRequest[] = [];
  #replies: ScriptedReply[];

  constructor(replies: readonly ScriptedReply[], info: Partial<ModelInfo> = {}) {
    this.#replies = [...replies];
    this.info = {
      id: "scripted",
      contextTokens: 100_000,
      maxOutputTokens: 1_000,
      images: true,
      summarises: false,
      ...info,
    };
  }

  /** Sets the replies for the next requests; the last one repeats. */
  play(...replies: readonly ScriptedReply[]): void {
    this.#replies = [...replies];
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    this.asked.push(
      structuredClone({
        ...request,
        tools: request.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
      }),
    );
    const reply = (this.#replies.length > 1 ? this.#replies.shift() : this.#replies[0]) ?? "Hello.";
    if (reply instanceof Error) throw reply;
    const events: readonly ModelEvent[] =
      typeof reply === "string"
        ? [
            { type: "text", text: reply },
            { type: "end", stop: "end" },
          ]
        : reply;
    for (const event of events) {
      signal.throwIfAborted();
      yield event;
    }
  }

  get models(): Models {
    return { defaultId: this.info.id, choices: [this.info.id], open: () => this };
  }
}

/** A reply that calls a tool. */
export function calling(name: string, given: unknown, id = "c1"): readonly ModelEvent[] {
  return [
    { type: "call", id, name, arguments: JSON.stringify(given) },
    { type: "end", stop: "tool_use" },
  ];
}
