import { createServer, type ServerResponse } from "node:http";
import { type Decided, type DecisionRequest, redact, type SupervisorObserver } from "@reins/supervisor";
import { describe, expect, it, onTestFinished } from "vitest";
import { OtelExport } from "../src/otel/index.ts";

/** A receiver that answers so; none listens without an answer. */
async function receiver(reply: ((response: ServerResponse) => void) | undefined) {
  const paths: string[] = [];
  const server = createServer(async (request, response) => {
    paths.push(request.url ?? "");
    for await (const _ of request);
    reply?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  if (!reply) await stop();
  else onTestFinished(async () => void (await stop()));
  return { url: `http://127.0.0.1:${port}`, paths };
}

/** An export of both signals, with what a supervisor reports. */
function exporting(url: string) {
  const observers = new Set<SupervisorObserver>();
  const changes: [signal: string, failure: string | undefined][] = [];
  const errors: unknown[] = [];
  const running = new OtelExport({
    settings: {
      ...{ serviceName: "test", headers: {}, delayMs: 10, intervalMs: 50 },
      ...{ traces: `${url}/v1/traces`, metrics: `${url}/v1/metrics` },
    },
    version: "1",
    harness: {
      supervisor: {
        observe: (observer) => {
          observers.add(observer);
          return () => void observers.delete(observer);
        },
      },
      approvals: { subscribe: () => () => undefined, list: async () => [] },
      identity: { listTenants: async () => [] },
      redact: (value) => {
        if (value === "the name that fails") throw new Error("it cannot be redacted");
        return redact(value);
      },
    },
    onChange: (signal, failure) => changes.push([signal, failure]),
    onError: (error) => errors.push(error),
  });
  const turn = (id: string, agent = "stub") => {
    for (const { turnStarted, turnEnded } of observers) {
      turnStarted?.({ id, session: "s", agent, meta: undefined });
      turnEnded({}, { id, stop_reason: "end_turn", tokens: {} });
    }
  };
  return { running, turn, changes, errors, observers };
}

describe("an export over OTLP", () => {
  it("reports each kind of receiver that takes nothing, ends all the same, and follows none elsewhere", async () => {
    const dripping = (response: ServerResponse) => {
      const drip = setInterval(() => response.write("x"), 50);
      response.on("close", () => clearInterval(drip));
    };
    const flooding = (response: ServerResponse) => {
      const flood = () => {
        while (response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", flood).on("close", () => response.removeAllListeners("drain"));
      flood();
    };
    const kinds: readonly (((response: ServerResponse) => void) | undefined)[] = [
      undefined,
      () => undefined,
      dripping,
      flooding,
      (response) => response.writeHead(307, { location: "/elsewhere" }).end(),
      (response) => response.writeHead(503, { "retry-after": "600" }).end(),
      (response) => response.writeHead(401).end("x".repeat(10_000)),
      (response) => response.socket?.destroy(),
    ];
    await Promise.all(
      kinds.map(async (kind) => {
        const { url, paths } = await receiver(kind);
        const { running, turn, changes, errors, observers } = exporting(url);
        for (let index = 0; index < 5_000; index += 1) turn(`t${index}`);
        const failing = () => new Set(changes.flatMap(([signal, failure]) => (failure ? [signal] : [])));
        await expect.poll(failing, { timeout: 60_000 }).toEqual(new Set(["traces", "metrics"]));
        await running.close();
        expect(observers.size).toBe(0);
        expect(errors).toEqual([]);
        expect(paths).not.toContain("/elsewhere");
      }),
    );
  });

  it("says when a receiver answers again, and says each change once", async () => {
    let isUp = false;
    const { url } = await receiver((response) => response.writeHead(isUp ? 200 : 400).end("{}"));
    const { running, turn, changes } = exporting(url);
    const of = (signal: string) => changes.filter(([name]) => name === signal).map(([, failure]) => failure);
    turn("t1");
    const both = () => [of("traces"), of("metrics")];
    await expect.poll(both).toEqual([["Bad Request"], ["Bad Request"]]);
    turn("t2");
    isUp = true;
    await expect
      .poll(() => {
        turn("t3");
        return both();
      })
      .toEqual([
        ["Bad Request", undefined],
        ["Bad Request", undefined],
      ]);
    await running.close();
  });

  it("reports its own faults, and never throws into a decision", async () => {
    const { url } = await receiver((response) => response.writeHead(200).end("{}"));
    const { running, turn, errors, observers } = exporting(url);
    turn("t1", "the name that fails");
    expect(errors).toEqual([new Error("it cannot be redacted")]);
    // What no type allows: only to see that it does not come back out.
    for (const { decided } of observers) decided({} as Decided, 1, {} as DecisionRequest);
    expect(errors).toHaveLength(2);
    await running.close();
  });
});
