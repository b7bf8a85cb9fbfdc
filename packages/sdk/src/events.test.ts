import { describe, expect, it } from "vitest";
import { ApiError, ConnectionError } from "./errors.ts";
import { followEvents, sseEventsOf } from "./events.ts";

type Answer = readonly string[] | Error;

/** Opens streams that answer one after another; notes after which event each was asked for. */
function server(...answers: readonly Answer[]) {
  const asked: (string | undefined)[] = [];
  const open = async (lastEventId: string | undefined) => {
    const answer = answers[asked.length] ?? new ApiError(404, undefined);
    asked.push(lastEventId);
    if (answer instanceof Error) throw answer;
    return new Response(answer.join(""));
  };
  return { asked, open };
}

const event = (id: number) => `id: ${id}\ndata: ${id}\n\n`;

async function follow(open: ReturnType<typeof server>["open"], giveUpMs = 10_000) {
  const seen: string[] = [];
  const { signal } = new AbortController();
  try {
    for await (const { data = "" } of followEvents({ open, signal, giveUpMs })) seen.push(data);
  } catch (error) {
    return { seen, error };
  }
  return { seen, error: undefined };
}

describe("a stream of events", () => {
  it("is reopened after the last whole event when it ends or breaks", async () => {
    const { asked, open } = server([event(1), event(2), "id: 3\ndata: cut"], [event(3)], []);
    const { seen, error } = await follow(open);
    expect(seen).toEqual(["1", "2", "3"]);
    expect(asked).toEqual([undefined, "2", "3", "3"]);
    expect(error).toMatchObject({ status: 404 });
  });

  it.each([409, 429, 502, 503])("is opened again after status %i", async (status) => {
    const { asked, open } = server(new ApiError(status, undefined), [event(1)]);
    expect((await follow(open)).seen).toEqual(["1"]);
    expect(asked).toHaveLength(3);
  });

  it.each([400, 401, 403, 404, 410])("fails with status %i", async (status) => {
    const { asked, open } = server(new ApiError(status, undefined), [event(1)]);
    expect((await follow(open)).error).toMatchObject({ status });
    expect(asked).toHaveLength(1);
  });

  it("is given up when the server stays away", async () => {
    const gone = new ConnectionError("unreachable", "gone");
    const { error } = await follow(server(gone, gone, gone, gone, gone, gone).open, 200);
    expect(error).toBe(gone);
  });

  it("that is silent, or not answered at all, is opened again", async () => {
    const asked: (string | undefined)[] = [];
    let isCancelled = false;
    const stop = new AbortController();
    const silent = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(event(1))),
      cancel: () => {
        isCancelled = true;
      },
    });
    const open = (lastEventId: string | undefined, signal: AbortSignal): Promise<Response> => {
      asked.push(lastEventId);
      if (asked.length === 1) return Promise.resolve(new Response(silent));
      if (asked.length === 3) return Promise.resolve(new Response(event(2)));
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
      );
    };
    const seen: (string | undefined)[] = [];
    for await (const { data } of followEvents({ open, signal: stop.signal, idleMs: 20 })) {
      seen.push(data);
      if (data === "2") stop.abort();
    }
    expect(seen).toEqual(["1", "2"]);
    expect(asked).toEqual([undefined, "1", "1"]);
    expect(isCancelled).toBe(true);
  });

  it("of a reader that pauses is not silent", async () => {
    const { body } = new Response([event(1), event(2)].join(""));
    const seen: (string | undefined)[] = [];
    for await (const { data } of sseEventsOf(body, { idleMs: 10 })) {
      seen.push(data);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    expect(seen).toEqual(["1", "2"]);
  });

  it("with an endless event is none of Reins", async () => {
    const piece = new TextEncoder().encode("x".repeat(1 << 20));
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece) });
    await expect(sseEventsOf(endless).next()).rejects.toMatchObject({ code: "incompatible" });
  });

  it("ends with its signal, whatever was received already", async () => {
    const stop = new AbortController();
    const { open } = server([event(1), event(2), event(3)]);
    const seen: unknown[] = [];
    for await (const { data } of followEvents({ open, signal: stop.signal })) {
      seen.push(data);
      stop.abort();
    }
    expect(seen).toEqual(["1"]);
  });
});
