import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { Line } from "./acp-client.ts";
import { acpClient } from "./open-client.ts";
import type { SessionView } from "./session-view.ts";

/** A session as it stands now, followed as long as somebody looks. */
export function useSession(id: string): SessionView {
  const session = useMemo(() => acpClient.follow(id), [id]);
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
