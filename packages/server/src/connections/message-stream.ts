import type { JsonObject } from "@reins/acp";
import type { Outlet } from "@reins/host";
import type { SseWriter } from "@reins/kit";
import { lastEventId } from "../gateway/request.ts";
import { HttpProblem } from "../problems.ts";
import type { AuthorizedCall } from "../routes/router.ts";
import type { DurableConnection, Part } from "./durable-connection.ts";

export interface Telling {
  readonly kept: DurableConnection;
  readonly session: Part;
  /** Whether a reader without a last event continues where the previous stream ended. */
  readonly continues: boolean;
  readonly frame: Frame;
}

/** Streams the messages of a connection to one reader until it disconnects. */
export async function streamMessages(
  call: AuthorizedCall,
  open: () => SseWriter,
  { kept, session, continues, frame }: Telling,
): Promise<void> {
  const seen = lastEventId(call.request);
  let stream: SseWriter | undefined;
  let isOver = false;
  const release = kept.claim(session, () => {
    isOver = true;
    stream?.end();
  });
  if (!release)
    throw new HttpProblem("conflict", "another reader has this stream open; close that one first");
  try {
    const beginning = await kept.beginning(seen, { session, continues });
    const opened = open();
    stream = opened;
    if (isOver) return;
    const outlet: Outlet = {
      send: (message, order, text) => opened.push(frame(message, order, text)),
      failed: () => opened.end(),
    };
    const feed = kept.follow(outlet, beginning, session);
    opened.onKeepAlive(() => void attend(call, kept, opened));
    try {
      await over(opened);
    } finally {
      kept.unfollow(feed, session);
    }
  } finally {
    release();
  }
}

/** Records activity of the reader; closes the stream of a revoked token. */
async function attend(call: AuthorizedCall, kept: DurableConnection, stream: SseWriter): Promise<void> {
  const now = await call.currentPrincipal().catch(() => undefined);
  if (now) kept.seen(now);
  else stream.end();
}

function over({ closed }: SseWriter): Promise<void> {
  return new Promise((resolve) => {
    if (closed.aborted) resolve();
    else closed.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Formats a message for the wire; `order` is its position in the log, `json` its known serialization. */
export type Frame = (message: JsonObject, order: number | undefined, json?: string) => string;

/** Formats each message once for all readers: all get one before any gets the next. */
export function framed(form: (text: string, order: number | undefined) => string): Frame {
  let last: { readonly message: JsonObject; readonly text: string } | undefined;
  return (message, order, json) => {
    if (order !== undefined && last?.message === message) return last.text;
    const text = form(json ?? JSON.stringify(message), order);
    if (order !== undefined) last = { message, text };
    return text;
  };
}
