import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { AcpClient, type ConnectionState } from "./acp-client.ts";
import type { SessionView } from "./attached-session.ts";
import { Connection } from "./connection.ts";
import { onNextFrame } from "./observable.ts";

/** Drops the second argument that the SDK passes: browsers would take it for a subprotocol. */
class PlainWebSocket extends WebSocket {
  constructor(url: string) {
    super(url);
  }
}

/** The client of this page. It connects on first use. */
export const acpClient = new AcpClient({
  open: async (listener) =>
    Connection.open(
      createWebSocketStream(socketUrl(window.location), { WebSocket: PlainWebSocket }),
      listener,
    ),
  schedule: onNextFrame,
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
  newId: () => crypto.randomUUID(),
  random: Math.random,
});

function socketUrl({ protocol, host }: Pick<Location, "protocol" | "host">): string {
  return `${protocol === "https:" ? "wss" : "ws"}://${host}/acp`;
}

/** A session, attached while a component shows it; an ended one is only replayed. */
export function useSession(id: string, isOver: boolean): SessionView {
  const session = useMemo(() => acpClient.attach(id, isOver), [id, isOver]);
  return useSyncExternalStore(session.view.subscribe, session.view.current);
}

/** The state of the connection to the server. */
export function useConnectionState(): ConnectionState {
  useEffect(() => {
    const retry = () => acpClient.state.current().state === "lost" && acpClient.retry();
    window.addEventListener("online", retry);
    return () => window.removeEventListener("online", retry);
  }, []);
  return useSyncExternalStore(acpClient.state.subscribe, acpClient.state.current);
}
