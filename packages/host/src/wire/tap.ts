import { type Channel, isObject, type JsonObject } from "@reins/acp";

/** A message of ACP that passes by: between a client and Reins, or between Reins and an agent. */
export interface Passing {
  readonly edge: "client" | "agent";
  /** As Reins sees it. */
  readonly direction: "in" | "out";
  readonly tenant: string;
  /** The session it is about, as Reins calls it, where the message says so. */
  readonly session: string | undefined;
  /** The connection or the process at the other end. */
  readonly peer: string;
  readonly agent: string | undefined;
  /** Exactly as it passed, secrets included: for memory alone. */
  readonly message: JsonObject;
}

/** Sees every message that passes by. Must be quick, and must neither throw nor change anything. */
export type WireTap = (passing: Passing) => void;

/** A channel whose messages are observed. */
export function tappedChannel(
  channel: Channel,
  see: (direction: Passing["direction"], message: JsonObject) => void,
): Channel {
  return {
    send: (message) => {
      see("out", message);
      return channel.send(message);
    },
    onMessage: (listener) =>
      channel.onMessage((message) => {
        see("in", message);
        return listener(message);
      }),
    closed: channel.closed,
  };
}

/** The session that a message names. */
export function sessionNamedIn({ params, result }: JsonObject): string | undefined {
  const { sessionId = isObject(result) ? result.sessionId : undefined } = isObject(params) ? params : {};
  return typeof sessionId === "string" ? sessionId : undefined;
}
