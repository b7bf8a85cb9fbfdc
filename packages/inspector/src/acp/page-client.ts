import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { AcpClient, type Line } from "./acp-client.ts";
import { Link } from "./connection.ts";
import type { SessionView } from "./followed-session.ts";
import { byFrame } from "./observable.ts";

/** Drops the second argument that the SDK passes: browsers would take it for a subprotocol. */
class PlainWebSocket extends WebSocket {
  constructor(url: string) {
    super(url);
  }
}

/** The client of this page. It connects on first use. */
export const acpClient = new AcpClient({
  open: async (ear) =>
    Link.open(createWebSocketStream(addressOf(window.location), { WebSocket: PlainWebSocket }), ear),
  schedule: byFrame,
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
  newId: () => crypto.randomUUID(),
  random: Math.random,
});

function addressOf({ protocol, host }: Location): string {
  return `${protocol === "https:" ? "wss" : "ws"}://${host}/acp`;
}

/** A session, attached while a component shows it; an ended one is only replayed. */
export function useSession(id: string, isOver: boolean): SessionView {
  const session = useMemo(() => acpClient.follow(id, isOver), [id, isOver]);
  return useSyncExternalStore(session.view.watch, session.view.current);
}

/** The state of the connection to the server. */
export function useLine(): Line {
  useEffect(() => {
    const retry = () => acpClient.line.current().state === "lost" && acpClient.retry();
    window.addEventListener("online", retry);
    return () => window.removeEventListener("online", retry);
  }, []);
  return useSyncExternalStore(acpClient.line.watch, acpClient.line.current);
}
