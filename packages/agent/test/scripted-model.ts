import type { Model, ModelEvent, ModelInfo, ModelRequest } from "../src/models/model.ts";
import type { Models } from "../src/models/models.ts";

/** What a scripted model answers to one request: events, or a text. */
export type ScriptedReply = string | readonly ModelEvent[] | Error;

/** A model in this process that says what a test wrote, and remembers what it was asked. */
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

  /** Answers from now on, one for each request; the last one stays. */
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

  /** All models there are. */
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
