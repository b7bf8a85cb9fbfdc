import type { Stream } from "@agentclientprotocol/sdk";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";

/** Options of {@link socketStream}. */
export interface SocketStreamOptions {
  /**
   * The secret of a principal. Browsers cannot send it with a WebSocket: a page sends the cookie of its login, and any
   * other uses `rpcStream`.
   */
  readonly token?: string | undefined;
  /** The agent of sessions that name none; the server's default one when absent. */
  readonly agent?: string | undefined;
}

/**
 * ACP over a WebSocket at `/acp`, as a stream for the official SDK. It ends when its connection breaks: nothing is resumed,
 * and sessions are loaded again over the next one. In return it takes none of the six connections that a browser opens to
 * a host over HTTP/1.1, so that every tab of a page can have one beside its streams of events.
 */
export function socketStream(url: string | URL, { token, agent }: SocketStreamOptions = {}): Stream {
  const address = new URL(url);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.pathname = `${address.pathname.replace(/\/$/, "")}/acp`;
  if (agent !== undefined) address.searchParams.set("agent", agent);
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  return createWebSocketStream(address.href, { WebSocket: socketWith(headers), cookies: "omit" });
}

/** The platform's WebSocket. Those that can send headers take them in the place of subprotocols. */
function socketWith(headers: Readonly<Record<string, string>> | undefined) {
  if (headers && "document" in globalThis)
    throw new TypeError("A browser sends no token with a WebSocket; leave it out, or use rpcStream.");
  return class extends WebSocket {
    constructor(address: string) {
      super(address, headers && Object({ headers }));
    }
  };
}
