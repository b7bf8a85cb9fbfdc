import { acpClient } from "../../../acp/open-client.ts";
import type { WaitingPrompt } from "../../../acp/session-view.ts";
import { Badge } from "../../../design/badge.tsx";
import { Button } from "../../../design/button.tsx";
import { visible } from "../../../design/visible.ts";

/** What was sent and waits for its turn, to be taken back. */
export function WaitingList({ session, waiting }: { session: string; waiting: readonly WaitingPrompt[] }) {
  if (waiting.length === 0) return null;
  return (
    <ul aria-label="Waiting to be said" className="mx-auto flex w-full max-w-4xl flex-col gap-1 pb-2">
      {waiting.map(({ id, text, state }) => (
        <li key={id} className="flex items-center gap-2 rounded bg-sunken px-2.5 py-1 text-sm">
          {state === "sent" ? (
            <Badge title="its turn comes when the turns before it are over">queued</Badge>
          ) : (
            <Badge tone="warn" title="the line was cut before its turn came; nobody knows whether it arrived">
              not sure
            </Badge>
          )}
          <span className="min-w-0 flex-1 truncate">{visible(text)}</span>
          {state === "unsure" && (
            <Button
              kind="quiet"
              onClick={() => {
                acpClient.takeBack(session, id);
                void acpClient.prompt(session, text);
              }}
            >
              Send again
            </Button>
          )}
          <Button kind="quiet" onClick={() => acpClient.takeBack(session, id)}>
            {state === "sent" ? "Take back" : "Discard"}
          </Button>
        </li>
      ))}
    </ul>
  );
}
