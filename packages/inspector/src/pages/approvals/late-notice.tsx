import { useEffect, useSyncExternalStore } from "react";
import { Observable } from "../../acp/observable.ts";
import { Button } from "../../design/button.tsx";

/** The approval that somebody else answered before the person here did. */
const late = new Observable<string | undefined>(undefined);
const SHOWN_MS = 15_000;

/** Notes that an answer came too late; what it answered is gone from the page by then. */
export function noteLate(approval: string): void {
  late.set(approval);
}

/** Tells a person that their answer came after another's. */
export function LateNotice() {
  const id = useSyncExternalStore(late.watch, late.current);
  useEffect(() => {
    if (id === undefined) return;
    const timer = setTimeout(() => late.set(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id]);
  if (id === undefined) return null;
  return (
    <div role="alert" className="flex items-center gap-3 rounded bg-warn-wash px-3 py-1.5 text-sm text-warn">
      <span className="flex-1">Somebody else had answered that already; their answer counts.</span>
      <Button kind="quiet" onClick={() => late.set(undefined)}>
        Dismiss
      </Button>
    </div>
  );
}
