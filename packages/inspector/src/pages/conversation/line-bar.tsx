import { acpClient } from "../../acp/open-client.ts";
import { useLine } from "../../acp/use-session.ts";
import { Button } from "../../design/button.tsx";
import { useNow } from "../../design/moment.tsx";

/** Tells when the server cannot be reached, and when that is tried again. */
export function LineBar() {
  const line = useLine();
  const now = useNow(1_000);
  if (line.state !== "lost") return null;
  const seconds = Math.max(0, Math.ceil((line.retryAt - now) / 1_000));
  return (
    <div
      role="status"
      className="flex items-center gap-3 border-b border-warn bg-warn-wash px-4 py-1.5 text-sm text-warn"
    >
      <span className="flex-1">
        Reins cannot be reached. What was said is kept; the conversation goes on when it is back
        {seconds > 0 ? ` (trying again in ${seconds} s)` : " (trying now)"}.
      </span>
      <Button onClick={() => acpClient.retry()}>Try now</Button>
    </div>
  );
}
