import type { Approval } from "@reins/api";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { notificationsEnabled, setNotifications, upsertPending } from "./approvals.ts";

const approval = (id: string, state: Approval["state"] = "pending", quorum = 1): Approval => ({
  id,
  tenant: "default",
  user: "ann",
  agent: "native",
  chain: [],
  session: "s",
  event_type: "pre_action",
  tool: "run_command",
  facts: { tool: "run_command", effects: [], opaque: true, doubts: [], claims: {}, arguments: {} },
  enforcement: "performed",
  binding: "",
  cwd: "/",
  target_state: {},
  reason: "",
  options: ["allow_once", "deny"],
  quorum,
  answers: [],
  state,
  created_at: "",
  expires_at: "",
  entry: "",
});
const known = [approval("a"), approval("b")];
const ids = (all: readonly Approval[]) => all.map(({ id }) => id);

test("appends a new approval and removes an answered one", () => {
  expect(ids(upsertPending(known, approval("c")))).toEqual(["a", "b", "c"]);
  expect(ids(upsertPending(known, approval("a", "approved")))).toEqual(["b"]);
});

test("replaces a changed approval in place", () => {
  const changed = upsertPending(known, approval("a", "pending", 2));
  expect(ids(changed)).toEqual(["a", "b"]);
  expect(changed[0]?.quorum).toBe(2);
});

test("returns the same list for an unknown approval that is not pending", () => {
  expect(upsertPending(known, approval("x", "expired"))).toBe(known);
});

describe("notifications", () => {
  const stored = new Map<string, string>();
  const request = vi.fn();
  /** A browser whose permission for notifications is given. */
  function stubBrowser(permission: NotificationPermission | undefined): void {
    const Notification = permission && { permission, requestPermission: request };
    vi.stubGlobal("window", Notification ? { Notification } : {});
    vi.stubGlobal("Notification", Notification);
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
    });
  }
  beforeEach(() => {
    stored.clear();
    request.mockReset();
  });
  afterEach(() => vi.unstubAllGlobals());

  test("are on only if the browser permits them and the user wants them", async () => {
    stubBrowser("granted");
    expect(notificationsEnabled()).toBe(false);
    await expect(setNotifications(true)).resolves.toBe(true);
    await expect(setNotifications(false)).resolves.toBe(false);
    expect(request).not.toHaveBeenCalled();
  });

  test("stay off if the browser denies them", async () => {
    stubBrowser("denied");
    await expect(setNotifications(true)).resolves.toBe(false);
    expect(request).not.toHaveBeenCalled();
  });

  test("make the browser ask the first time, and only to turn them on", async () => {
    stubBrowser("default");
    await setNotifications(false);
    expect(request).not.toHaveBeenCalled();
    await setNotifications(true);
    expect(request).toHaveBeenCalledOnce();
  });

  test("stay off in a browser without notifications", async () => {
    stubBrowser(undefined);
    await expect(setNotifications(true)).resolves.toBe(false);
  });
});
