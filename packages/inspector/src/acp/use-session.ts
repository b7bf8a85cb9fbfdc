import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { Line } from "./acp-client.ts";
import { acpClient } from "./open-client.ts";
import type { SessionView } from "./session-view.ts";

/** A session as it stands now, followed as long as somebody looks; one that is over is only read. */
export function useSession(id: string, isOver: boolean): SessionView {
  const session = useMemo(() => acpClient.follow(id, isOver), [id, isOver]);
  return useSyncExternalStore(session.view.watch, session.view.current);
}

/** How the line to the server stands. */
export function useLine(): Line {
  useEffect(() => {
    const retry = () => acpClient.line.current().state === "lost" && acpClient.retry();
    window.addEventListener("online", retry);
    return () => window.removeEventListener("online", retry);
  }, []);
  return useSyncExternalStore(acpClient.line.watch, acpClient.line.current);
}
