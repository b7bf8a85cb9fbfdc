import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { type ListeningServer, serveUntilStopped, startAll } from "./listen.ts";

function opened(address: string, journal: string[]): ListeningServer {
  const closed = Promise.withResolvers<void>();
  const close = async () => {
    journal.push(`close ${address}`);
    closed.resolve();
  };
  return { served: { address, closed: closed.promise, close }, addresses: [] };
}

const silent = pino({ level: "silent" });

describe("starting", () => {
  it("closes the started servers when a later one fails", async () => {
    const journal: string[] = [];
    const starts = [
      async () => opened("a", journal),
      async () => opened("b", journal),
      () => Promise.reject(new Error("port in use")),
      async () => opened("never", journal),
    ];
    await expect(startAll(starts)).rejects.toThrow("port in use");
    expect(journal).toEqual(["close a", "close b"]);
  });
});

describe("serving", () => {
  it("closes everything on a stop signal", async () => {
    const journal: string[] = [];
    const servers = await startAll([async () => opened("a", journal), async () => opened("b", journal)]);
    const stop = { requested: Promise.resolve<NodeJS.Signals>("SIGINT"), dispose: () => {} };
    await serveUntilStopped(servers, stop, silent);
    expect(journal).toEqual(["close a", "close b"]);
  });

  it("ends when every connection closed", async () => {
    const server = opened("stdio", []);
    const never = { requested: new Promise<NodeJS.Signals>(() => {}), dispose: () => {} };
    const serving = serveUntilStopped([server], never, silent);
    await server.served.close();
    await expect(serving).resolves.toBeUndefined();
  });

  it("closes its backend last, also when that fails", async () => {
    const journal: string[] = [];
    const never = { requested: new Promise<NodeJS.Signals>(() => {}), dispose: () => {} };
    const refused = Promise.reject(new Error("rolled back"));
    const backing = { refused, close: async () => void journal.push("close ledger") };
    const serving = serveUntilStopped([opened("a", journal)], never, silent, backing);
    await expect(serving).rejects.toThrow("rolled back");
    expect(journal).toEqual(["close a", "close ledger"]);
  });
});
