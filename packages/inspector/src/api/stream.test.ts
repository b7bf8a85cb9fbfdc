import { runOperations, sessionOperations } from "@reins/api";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { subscribe } from "./stream.ts";

/** A stream of the server whose events the test sends. */
class FakeStream {
  static readonly opened: FakeStream[] = [];
  readonly path: string;
  readonly lastEventId: string | null;
  readonly body: ReadableStream<Uint8Array>;
  isOpen = true;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(address: string, { headers, signal }: RequestInit) {
    this.path = address.replace("http://localhost", "");
    this.lastEventId = new Headers(headers).get("last-event-id");
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
    });
    signal?.addEventListener("abort", () => this.#end(signal.reason));
    FakeStream.opened.push(this);
  }

  send(type: string, data: unknown, id = ""): void {
    const text = `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#controller?.enqueue(new TextEncoder().encode(text));
  }

  break(): void {
    this.#end(new TypeError("network error"));
  }

  #end(reason: unknown): void {
    this.isOpen = false;
    this.#controller?.error(reason);
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
let refusal: Response | undefined;
let page: FakeDocument;

beforeEach(() => {
  vi.useFakeTimers();
  FakeStream.opened.length = 0;
  refusal = undefined;
  page = new FakeDocument();
  vi.stubGlobal("fetch", async (address: string, request: RequestInit) => {
    const { body } = new FakeStream(address, request);
    return refusal ?? new Response(body);
  });
  vi.stubGlobal("document", page);
  vi.stubGlobal("navigator", {});
});
afterEach(() => {
  page.show(false);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const settle = () => vi.advanceTimersByTimeAsync(0);
const areOpen = () => FakeStream.opened.map(({ isOpen }) => isOpen);

describe("a subscription", () => {
  test("delivers events of the operation until it is cancelled", async () => {
    const received: number[] = [];
    const unsubscribe = subscribe(
      runOperations.streamRuns,
      { query: { run: "r" } },
      { onEvent: ({ seq }) => received.push(seq) },
    );
    await settle();
    const [stream] = FakeStream.opened;
    expect(stream?.path).toBe("/v1/runs/stream?run=r");
    stream?.send("run", { ...event, payload });
    stream?.send("other", { ...event, payload });
    await settle();
    expect(received).toEqual([1]);
    unsubscribe();
    expect(areOpen()).toEqual([false]);
  });

  test("reports whether it is open, and opens again after the last event", async () => {
    const states: boolean[] = [];
    subscribe(
      runOperations.streamRuns,
      {},
      { onEvent: () => undefined, onState: (state) => states.push(state) },
    );
    await settle();
    FakeStream.opened[0]?.send("run", { ...event, payload }, "7");
    await settle();
    FakeStream.opened[0]?.break();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(states).toEqual([true, false, true]);
    expect(FakeStream.opened[1]?.lastEventId).toBe("7");
  });

  test("tries again after the server refused it, and not after it is cancelled", async () => {
    refusal = new Response("", { status: 404 });
    const unsubscribe = subscribe(sessionOperations.streamSessions, {}, { onEvent: () => undefined });
    await vi.advanceTimersByTimeAsync(2_999);
    expect(FakeStream.opened).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(FakeStream.opened).toHaveLength(2);
    unsubscribe();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeStream.opened).toHaveLength(2);
  });

  test("closes in a hidden tab and opens again when the tab is visible", async () => {
    subscribe(sessionOperations.streamSessions, {}, { onEvent: () => undefined });
    await settle();
    page.show(false);
    await settle();
    expect(areOpen()).toEqual([false]);
    page.show(true);
    await settle();
    expect(areOpen()).toEqual([false, true]);
  });

  test("starts closed in a tab that is opened in the background", async () => {
    page.visibilityState = "hidden";
    subscribe(sessionOperations.streamSessions, {}, { onEvent: () => undefined });
    await settle();
    expect(FakeStream.opened).toHaveLength(0);
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
    expect(areOpen()).toEqual([true]);
    vi.stubGlobal("document", tabs[0]);
    tabs[0]?.show(true);
    await settle();
    expect(areOpen()).toEqual([true, true]);
  });

  test("closes in hidden tabs if it is not wanted there", async () => {
    const names = stubLocks();
    const background = { name: "reins.test", isWanted: () => false };
    subscribe(sessionOperations.streamSessions, {}, { onEvent: () => undefined, background });
    page.show(false);
    await settle();
    expect(names).toEqual([]);
    expect(areOpen()).toEqual([false]);
  });
});
