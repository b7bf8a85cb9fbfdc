import type { ServerResponse } from "node:http";
import type { Conversation } from "./conversation.ts";
import type { Dialect, StopEnding } from "./dialect/dialect.ts";
import type { ReadyPart } from "./spoken-parts.ts";

/** An answer in the asking agent's words. */
export interface ModelAnswer {
  readonly id: string;
  readonly parts: readonly ReadyPart[];
  /** `cut` drops the connection, in the middle of the last part if that is a call. */
  readonly ending: StopEnding | "cut";
}

/** Sends an answer, streamed or whole as the conversation asks. Ends early when the asker goes away. */
export async function sendAnswer(
  response: ServerResponse,
  dialect: Dialect,
  conversation: Conversation,
  answer: ModelAnswer,
): Promise<void> {
  if (conversation.streamed) return stream(response, dialect, conversation, answer);
  for (const part of answer.parts) if (part.kind === "hold") await untilOrGone(part.until, response);
  const spoken = answer.parts.filter((part) => part.kind !== "hold");
  if (answer.ending === "cut") response.destroy();
  else respondJson(response, 200, dialect.whole(conversation, answer.id, spoken, answer.ending));
}

/** Sends one JSON document. */
export function respondJson(
  response: ServerResponse,
  status: number,
  document: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(document));
}

async function stream(
  response: ServerResponse,
  dialect: Dialect,
  conversation: Conversation,
  { id, parts, ending }: ModelAnswer,
): Promise<void> {
  const voice = dialect.voice(conversation, id);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  await write(response, voice.begin());
  for (const [index, part] of parts.entries()) {
    if (response.destroyed) return;
    if (part.kind === "hold") await untilOrGone(part.until, response);
    else if (ending === "cut" && index === parts.length - 1 && part.kind === "call") {
      await write(response, voice.half(part));
    } else await write(response, voice.part(part));
  }
  if (ending === "cut") {
    response.destroy();
    return;
  }
  await write(response, voice.end(ending));
  response.end();
}

async function write(response: ServerResponse, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    if (response.destroyed) return;
    // Written by the kernel before the next one, so that a cut comes after what was said and not instead of it.
    await new Promise<void>((resolve) => response.write(piece, () => resolve()));
  }
}

async function untilOrGone(event: PromiseLike<unknown>, response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  let leave = () => {};
  const gone = new Promise<void>((resolve) => {
    leave = resolve;
  });
  response.once("close", leave);
  try {
    await Promise.race([event, gone]);
  } finally {
    response.off("close", leave);
  }
}
