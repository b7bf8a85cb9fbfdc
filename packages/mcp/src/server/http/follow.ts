import { readSse, type ServerSentEvent, SseParser } from "@reins/kit";
import { isObject, type Message, readMessages } from "../../wire/message.ts";

/** The position of a stream from which it can be resumed. */
export interface Resumption {
  lastEventId: string | undefined;
  retryMs: number | undefined;
}

/** What is done with the messages of a stream. */
export interface Follower {
  message(message: Message): void;
  /** An event that holds no message. */
  malformed(): void;
  /** Whether that was all that was waited for. */
  isDone(): boolean;
}

/** Follows a stream until all is there that was waited for; gives what ended it before, if anything did. */
export async function follow(
  response: Response,
  maxBytes: number,
  resumption: Resumption,
  follower: Follower,
): Promise<{ readonly brokeOff?: unknown }> {
  try {
    for await (const event of eventsOf(response, maxBytes, resumption)) {
      if (event.event === "message" && event.data !== undefined) deliver(event.data, follower);
      if (follower.isDone()) return {};
    }
    return { brokeOff: new Error("the stream ended") };
  } catch (error) {
    return { brokeOff: error };
  }
}

/** The events of a response that is a stream. */
export async function* eventsOf(
  { body }: Response,
  maxLength: number,
  resumption: Resumption,
): AsyncGenerator<ServerSentEvent> {
  if (!body) return;
  const parser = new SseParser(maxLength);
  const note = () => {
    resumption.lastEventId = parser.lastEventId ?? resumption.lastEventId;
    resumption.retryMs = parser.retryMs ?? resumption.retryMs;
  };
  try {
    for await (const event of readSse(body, parser)) {
      note();
      yield event;
    }
  } finally {
    note();
  }
}

/** Hands over the messages in a text. */
export function deliver(text: string, follower: Pick<Follower, "message" | "malformed">): void {
  for (const message of readMessages(text) ?? [undefined]) {
    if (isObject(message)) follower.message(message);
    else follower.malformed();
  }
}
