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
  const answer = (message: JsonObject) => channel.send(message).catch(() => undefined);
  const outlet = { send: answer, failed: (error: unknown) => gone.abort(error) };
  const connection = await hub.connect({ principal, agent, id, outlet });
  const conversation = new Conversation(connection, gone.signal);
  channel.onMessage((message) => takeMessage({ connection, conversation, answer }, message));
  const reason = await Promise.race([channel.closed, aborted(gone.signal)]);
  gone.abort(reason);
  hub.disconnect(connection, { mayReturn: false });
}

/** A client of a channel in both directions. */
interface ChannelClient {
  readonly connection: Connection;
  readonly conversation: Conversation;
  /** Sends an answer to the client. Never rejects. */
  readonly answer: (message: JsonObject) => Promise<void>;
}

/** Handles a message of a client; the next is delivered when the promise settles. */
export async function takeMessage(
  { connection, conversation, answer }: ChannelClient,
  message: JsonObject,
): Promise<void> {
  const classified = classify(message);
  switch (classified.kind) {
    case "request":
      // Not waited for: a prompt may last, and its client may have to answer a question meanwhile.
      void conversation.ask(classified.id, classified.method, classified.params).then(answer);
      return;
    case "notification":
      // A notification has no response for an error.
      return conversation.notify(classified.method, classified.params).catch(() => undefined);
    case "result":
      return connection.take(classified.id, classified.result);
    case "error":
      connection.fail(classified.id, classified.error);
      return;
    case "malformed": {
      const error = new RpcError(CODE.invalidRequest, classified.reason).toWire();
      return answer({ jsonrpc: "2.0", id: classified.id, error });
    }
  }
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true }),
  );
}
