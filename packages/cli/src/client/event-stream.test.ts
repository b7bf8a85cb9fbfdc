import { describe, expect, it } from "vitest";
import { type ServerEvent, serverEvents } from "./event-stream.ts";

async function* pieces(...texts: string[]) {
  yield* texts;
}

const read = (...texts: string[]): Promise<ServerEvent[]> => Array.fromAsync(serverEvents(pieces(...texts)));

describe("server-sent events", () => {
  const whole = 'id: 7\nevent: approval\ndata: {"a":\ndata: 1}\n\n';
  const event = { id: "7", event: "approval", data: '{"a":\n1}' };

  it("are parsed from any chunks", async () => {
    for (let cut = 0; cut <= whole.length; cut += 1)
      expect(await read(whole.slice(0, cut), whole.slice(cut))).toEqual([event]);
  });

  it.each(["\r\n", "\r"])("may end their lines with %j", async (end) => {
    const text = whole.replaceAll("\n", end);
    for (let cut = 0; cut <= text.length; cut += 1)
      expect(await read(text.slice(0, cut), text.slice(cut), `: end${end}`)).toEqual([event]);
  });

  it("may contain only an id; keep-alives are no events", async () => {
    expect(await read("id: 1\n\n: alive\n\ndata\ndata:x\n\n")).toEqual([
      { id: "1", event: "message" },
      { id: "1", event: "message", data: "\nx" },
    ]);
  });

  it("are ignored when they are incomplete", async () => {
    expect(await read("id: 1\ndata: x\n")).toEqual([]);
  });

  it("are rejected when they are too long", async () => {
    await expect(read("data: ".padEnd(9 * 1024 * 1024, "x"))).rejects.toThrow("too long");
    const line = `data: ${"x".repeat(1024 * 1024)}\n`;
    await expect(read(...Array.from({ length: 9 }, () => line))).rejects.toThrow("too long");
  });
});
