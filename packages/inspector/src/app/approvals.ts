import { type Approval, approvalOperations, type ShownApproval, type WithheldApproval } from "@reins/api";
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { call, patchQuery } from "../api/queries.ts";
import { subscribe } from "../api/stream.ts";
import { visible } from "../design/format.ts";
import { COMPARISON } from "../proof/compare.ts";

/** The query key of pending approvals. */
export const PENDING = ["approvals", "pending"] as const;
const MOST = 500;

/**
 * The pending approvals that the user may answer, oldest first; kept up to date by the stream that the shell
 * subscribes to.
 */
export function usePendingApprovals(): UseQueryResult<readonly Approval[]> {
  return usePending(concerning);
}

/** The pending approvals that only others may answer. */
export function useWithheldApprovals(): UseQueryResult<readonly WithheldApproval[]> {
  return usePending(withheld);
}

/** The number of pending approvals of a session. */
export function usePendingOf(session: string): number {
  return usePendingApprovals().data?.filter((approval) => approval.session === session).length ?? 0;
}

function usePending<Data>(select: (all: readonly ShownApproval[]) => Data): UseQueryResult<Data> {
  return useQuery({
    queryKey: PENDING,
    queryFn: ({ signal }) => pending(signal),
    staleTime: Infinity,
    select,
  });
}

function concerning(all: readonly ShownApproval[]): readonly Approval[] {
  return all.flatMap((approval) => ("withheld" in approval ? [] : [approval]));
}

function withheld(all: readonly ShownApproval[]): readonly WithheldApproval[] {
  return all.flatMap((approval) => ("facts" in approval ? [] : [approval]));
}

async function pending(signal: AbortSignal): Promise<readonly ShownApproval[]> {
  const query = { state: "pending" as const, limit: MOST };
  const { approvals } = await call(approvalOperations.listApprovals, { query, signal });
  return approvals;
}

/** Applies a change to the list of pending approvals. */
export function upsertPending<Shown extends ShownApproval>(
  known: readonly Shown[],
  changed: Shown,
): readonly Shown[] {
  const others = known.filter(({ id }) => id !== changed.id);
  if (changed.state !== "pending") return others.length === known.length ? known : others;
  const place = known.findIndex(({ id }) => id === changed.id);
  return place < 0 ? [...known, changed] : known.with(place, changed);
}

/** If notifications are on, one hidden tab stays subscribed. */
const BACKGROUND = { name: "reins.approvals", isWanted: notificationsEnabled } as const;

/** Subscribes to changes of approvals, once for the whole page. */
export function useApprovalStream(): void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  useEffect(() => {
    let wasLost = false;
    return subscribe(
      approvalOperations.streamApprovals,
      {},
      {
        onEvent: ({ approval }) => {
          const known = queries.getQueryData<readonly ShownApproval[]>(PENDING);
          patchQuery<readonly ShownApproval[]>(queries, PENDING, (now) => upsertPending(now, approval));
          void queries.invalidateQueries({ queryKey: ["approval", approval.id] });
          void queries.invalidateQueries({ queryKey: ["approvals", "answered"] });
          if (approval.state !== "pending") void queries.invalidateQueries({ queryKey: ["grants"] });
          else if (!("withheld" in approval) && !known?.some(({ id }) => id === approval.id))
            notify(approval, () => void navigate({ to: "/approvals", search: { approval: approval.id } }));
        },
        background: BACKGROUND,
        // Changes during a lost connection may be missing.
        onState: (isOpen) => {
          if (isOpen) void queries.invalidateQueries({ queryKey: PENDING });
          // After a lost connection the server must prove again that its history is the same.
          if (isOpen && wasLost) void queries.invalidateQueries({ queryKey: COMPARISON });
          wasLost = !isOpen;
        },
      },
    );
  }, [queries, navigate]);
}

const KEY = "reins.notices";

/** Whether the browser permits notifications and the user turned them on. */
export function notificationsEnabled(): boolean {
  return (
    "Notification" in window && Notification.permission === "granted" && localStorage.getItem(KEY) === "yes"
  );
}

/** Turns notifications on or off; returns whether they are on. The browser asks for permission the first time. */
export async function setNotifications(wanted: boolean): Promise<boolean> {
  if (wanted && "Notification" in window && Notification.permission === "default")
    await Notification.requestPermission();
  localStorage.setItem(KEY, wanted ? "yes" : "no");
  return notificationsEnabled();
}

function notify({ id, agent, tool, reason }: Approval, onClick: () => void): void {
  if (!notificationsEnabled()) return;
  const notice = createNotification(visible(`${agent} asks: ${tool}`), { body: visible(reason), tag: id });
  notice?.addEventListener("click", () => {
    window.focus();
    onClick();
    notice.close();
  });
}

function createNotification(title: string, options: NotificationOptions): Notification | undefined {
  try {
    return new Notification(title, options);
  } catch {
    // Mobile browsers may grant the permission and still reject notifications; then they are off.
    localStorage.setItem(KEY, "no");
    return undefined;
  }
}
