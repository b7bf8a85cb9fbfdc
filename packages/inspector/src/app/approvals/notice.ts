import type { Approval } from "@reins/api";
import { visible } from "../../design/visible.ts";

const KEY = "reins.notices";

/** Whether this browser tells of approvals: it may, and the person wants it. */
export function tellsOfApprovals(): boolean {
  return (
    "Notification" in window && Notification.permission === "granted" && localStorage.getItem(KEY) === "yes"
  );
}

/** Turns notices on or off; whether they are on then. The browser asks the person the first time. */
export async function chooseNotices(wanted: boolean): Promise<boolean> {
  if (wanted && "Notification" in window && Notification.permission === "default")
    await Notification.requestPermission();
  localStorage.setItem(KEY, wanted ? "yes" : "no");
  return tellsOfApprovals();
}

/** Tells of an approval outside of the page. */
export function notify({ id, agent, tool, reason }: Approval, onClick: () => void): void {
  if (!tellsOfApprovals()) return;
  const notice = noticeOf(visible(`${agent} asks: ${tool}`), { body: visible(reason), tag: id });
  notice?.addEventListener("click", () => {
    window.focus();
    onClick();
    notice.close();
  });
}

function noticeOf(title: string, options: NotificationOptions): Notification | undefined {
  try {
    return new Notification(title, options);
  } catch {
    // Browsers of phones may have the permission and yet give pages no notices; then they are not on.
    localStorage.setItem(KEY, "no");
    return undefined;
  }
}
