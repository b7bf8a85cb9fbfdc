import { type Channel, CODE, classify, type JsonObject, RpcError } from "@reins/acp";
import type { Principal } from "@reins/supervisor";
import { type Connection, Conversation } from "./connection.ts";
import type { Hub } from "./hub.ts";

/** A client at the other end of a channel. */
export interface ServedClient {
  readonly channel: Channel;
  readonly principal: Principal;
  /** The agent of sessions that name none. */
  readonly agent?: string | undefined;
  readonly id?: string | undefined;
}

/** Serves a client over a channel that goes both ways, until it has gone. */
export async function serveChannel(hub: Hub, { channel, principal, agent, id }: ServedClient): Promise<void> {
  const gone = new AbortController();
  const outlet = {
    send: (message: JsonObject) => channel.send(message).catch(() => undefined),
    failed: (error: unknown) => gone.abort(error),
  };
  const connection = await hub.connect({ principal, agent, id, outlet });
  const conversation = new Conversation(connection, gone.signal);
  const answer = (message: JsonObject) => channel.send(message).catch(() => undefined);
  channel.onMessage((message) => takeMessage({ connection, conversation, answer }, message));
  const reason = await Promise.race([channel.closed, aborted(gone.signal)]);
  gone.abort(reason);
  hub.disconnect(connection);
}

/** A client of a channel in both directions. */
interface Spoken {
  readonly connection: Connection;
  readonly conversation: Conversation;
  /** Sends an answer to the client. Never rejects. */
  readonly answer: (message: JsonObject) => Promise<void>;
}

/** Handles a message of a client; the next is delivered when the promise settles. */
export function takeMessage(
  { connection, conversation, answer }: Spoken,
  message: JsonObject,
): void | Promise<void> {
  const sorted = classify(message);
  switch (sorted.kind) {
    case "request":
      // Not waited for: a prompt may last, and its client may have to answer a question meanwhile.
      void conversation.ask(sorted.id, sorted.method, sorted.params).then(answer);
      return;
    case "notification":
      // A notification has no response for an error.
      return conversation.notify(sorted.method, sorted.params).catch(() => undefined);
    case "result":
      connection.take(sorted.id, sorted.result);
      return;
    case "error":
      connection.fail(sorted.id, sorted.error);
      return;
    case "malformed":
      return answer({
        jsonrpc: "2.0",
        id: sorted.id,
        error: new RpcError(CODE.invalidRequest, sorted.reason).toWire(),
      });
  }
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true }),
  );
}
