import { agentsOperations, runOperations, sessionOperations } from "@reins/api";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { progress, subscribe } from "./stream.ts";

/** An `EventSource` whose events the test sends. */
class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static readonly opened: FakeSource[] = [];
  readonly url: string;
  readyState = 0;

  constructor(url: string) {
    super();
    this.url = url;
    FakeSource.opened.push(this);
  }

  send(type: string, data: unknown, lastEventId = ""): void {
    this.dispatchEvent(Object.assign(new Event(type), { data: JSON.stringify(data), lastEventId }));
  }

  fail(isFinal: boolean): void {
    if (isFinal) this.readyState = FakeSource.CLOSED;
    this.dispatchEvent(new Event("error"));
  }

  close(): void {
    this.readyState = FakeSource.CLOSED;
  }
}

/** A document whose visibility the test changes. */
class FakeDocument extends EventTarget {
  visibilityState = "visible";

  show(isVisible: boolean): void {
    this.visibilityState = isVisible ? "visible" : "hidden";
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

const event = {
  seq: 1,
  run_id: "r",
  session_id: "s",
  contract: "task_list",
  at: "2026-01-01T00:00:00Z",
  fault: null,
};
const payload = { run_id: "r", session_id: "s", updated_at: "2026-01-01T00:00:00Z" };
let page: FakeDocument;

beforeEach(() => {
  vi.useFakeTimers();
  FakeSource.opened.length = 0;
  page = new FakeDocument();
  vi.stubGlobal("EventSource", FakeSource);
  vi.stubGlobal("document", page);
  vi.stubGlobal("navigator", {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const isOpen = (source: FakeSource | undefined) => source?.readyState !== FakeSource.CLOSED;

describe("a subscription", () => {
  test("delivers events of the operation with their ids until it is cancelled", () => {
    const received: string[] = [];
    const unsubscribe = subscribe(
      runOperations.streamRuns,
      { query: { run: "r" } },
      { onEvent: ({ seq }, id) => received.push(`${seq} ${id}`) },
    );
    const [source] = FakeSource.opened;
    expect(source?.url).toBe("/v1/runs/stream?run=r");
    source?.send("run", { ...event, payload }, "7");
    source?.send("other", { ...event, payload }, "8");
    expect(received).toEqual(["1 7"]);
    unsubscribe();
    expect(isOpen(source)).toBe(false);
  });

  test("reports whether it is open, and leaves a retry of the browser alone", () => {
    const states: boolean[] = [];
    subscribe(
      sessionOperations.streamSessions,
      {},
      { onEvent: () => undefined, onState: (state) => states.push(state) },
    );
    const [source] = FakeSource.opened;
    source?.dispatchEvent(new Event("open"));
    source?.fail(false);
    vi.advanceTimersByTime(60_000);
    expect(states).toEqual([true, false]);
    expect(FakeSource.opened).toHaveLength(1);
  });

  test("opens again after the browser gave up, and not after it is cancelled", () => {
    const unsubscribe = subscribe(sessionOperations.streamSessions, {}, { onEvent: () => undefined });
    FakeSource.opened[0]?.fail(true);
    vi.advanceTimersByTime(2_999);
    expect(FakeSource.opened).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(FakeSource.opened).toHaveLength(2);
    FakeSource.opened[1]?.fail(true);
    unsubscribe();
    vi.advanceTimersByTime(60_000);
    expect(FakeSource.opened).toHaveLength(2);
  });

  test("closes in a hidden tab and opens again when the tab is visible", () => {
    subscribe(sessionOperations.streamSessions, {}, { onEvent: () => undefined });
    page.show(false);
    expect(FakeSource.opened.map(isOpen)).toEqual([false]);
    page.show(true);
    expect(FakeSource.opened.map(isOpen)).toEqual([false, true]);
  });

  test("starts closed in a tab that is opened in the background", () => {
    page.visibilityState = "hidden";
    subscribe(sessionOperations.streamSessions, {}, { onEvent: () => undefined });
    expect(FakeSource.opened).toHaveLength(0);
  });
});

describe("a subscription with a background", () => {
  /** Locks that are granted one after the other, as a browser grants them to its tabs. */
  function stubLocks() {
    const names: string[] = [];
    let queue = Promise.resolve();
    const locks = {
      request: (name: string, { signal }: { signal: AbortSignal }, run: () => Promise<void>) => {
        names.push(name);
        const turn = queue.then(() => (signal.aborted ? undefined : run()));
        queue = turn.catch(() => undefined);
        return turn;
      },
    };
    vi.stubGlobal("navigator", { locks });
    return names;
  }
  const settle = () => vi.advanceTimersByTimeAsync(0);

  test("stays open in one hidden tab only, and moves to the next when that tab is shown", async () => {
    const names = stubLocks();
    const tabs = [new FakeDocument(), new FakeDocument()];
    const background = { name: "reins.test", isWanted: () => true };
    for (const tab of tabs) {
      tab.visibilityState = "hidden";
      vi.stubGlobal("document", tab);
      subscribe(sessionOperations.streamSessions, {}, { onEvent: () => undefined, background });
    }
    await settle();
    expect(names).toEqual(["reins.test", "reins.test"]);
    expect(FakeSource.opened.map(isOpen)).toEqual([true]);
    vi.stubGlobal("document", tabs[0]);
    tabs[0]?.show(true);
    await settle();
    expect(FakeSource.opened.map(isOpen)).toEqual([true, true]);
  });

  test("closes in hidden tabs if it is not wanted there", async () => {
    const names = stubLocks();
    const background = { name: "reins.test", isWanted: () => false };
    subscribe(sessionOperations.streamSessions, {}, { onEvent: () => undefined, background });
    page.show(false);
    await settle();
    expect(names).toEqual([]);
    expect(FakeSource.opened.map(isOpen)).toEqual([false]);
  });
});

test("the progress of a long operation is yielded event by event", async () => {
  const steps = [
    { phase: "installing", done: 0, total: 2 },
    { phase: "installing", done: 1, total: 2 },
  ];
  const body = steps.map((step) => `event: progress\ndata: ${JSON.stringify(step)}\n\n`).join("");
  vi.stubGlobal("fetch", async () => new Response(body));
  const seen: unknown[] = [];
  for await (const step of progress(agentsOperations.installAgent, { params: { agent: "pond" }, body: {} }))
    seen.push(step);
  expect(seen).toMatchObject(steps);
});
