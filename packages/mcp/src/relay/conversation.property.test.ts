import { ManualClock, settled } from "@reins/kit/manual-clock";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ScriptedServer } from "../../test/scripted-server.ts";
import { Faults } from "../faults.ts";
import type { McpCall, McpDecision, McpGate } from "../gate.ts";
import { MCP_LIMITS } from "../limits.ts";
import { type Message, objectIn } from "../message.ts";
import { Upstream } from "../server/upstream.ts";
import { ToolCatalog } from "../tools/catalog.ts";
import { Conversation } from "./conversation.ts";
import { GovernedCalls } from "./governed-calls.ts";
import { GovernedMethods } from "./governed-methods.ts";

/** What can happen, in any order and as often as you like. */
type Step =
  | { readonly kind: "call"; readonly id: number; readonly tool: "free" | "hidden" }
  | { readonly kind: "cancel"; readonly id: number }
  | { readonly kind: "decide"; readonly which: number; readonly how: "allow" | "modify" | "deny" | "throw" }
  | {
      readonly kind: "answer";
      readonly which: number;
      readonly how: "result" | "isError" | "error" | "twice";
    }
  | { readonly kind: "stray"; readonly id: number }
  | { readonly kind: "crash" }
  | { readonly kind: "outOfOrder"; readonly is: boolean }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "settle" };

/** Few ids, so that many are used twice at a time. */
const id = fc.integer({ min: 1, max: 3 });
const which = fc.nat({ max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("call"), id, tool: fc.constantFrom("free", "free", "hidden") }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("cancel"), id }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("decide"),
      which,
      how: fc.constantFrom("allow", "allow", "modify", "deny", "throw"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("answer"),
      which,
      how: fc.constantFrom("result", "isError", "error", "twice"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stray"), id: fc.integer({ min: -2, max: 30 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("outOfOrder"), is: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("wait"), ms: fc.constantFrom(10, 300, 6_000, 40_000) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("settle") }) },
) as fc.Arbitrary<Step>;

/** What is noted of a call; each is known by a number in its arguments. */
type Event = "decided" | "allowed" | "performed" | "reported" | "answered" | "refused";

/** A conversation of which everything is in the hands of a test, and what happened to each call, in order. */
class World {
  readonly history = new Map<number, Event[]>();
  readonly cancelled = new Set<number>();
  readonly clock = new ManualClock();
  readonly #server = new ScriptedServer((message) => this.#performed(message));
  readonly #deciding: { readonly call: McpCall; settle(how: string): void }[] = [];
  readonly #open = new Map<number, number[]>();
  readonly #conversation: Conversation;
  readonly #catalog: ToolCatalog;
  #calls = 0;

  constructor() {
    const limits = { ...MCP_LIMITS, callsInFlight: 8 };
    const { clock } = this;
    const faults = new Faults("lab");
    const gate = this.#gate();
    const catalog = new ToolCatalog("lab", gate, faults, 10);
    this.#catalog = catalog;
    const shared = { gate, catalog, faults, limits, clock, mayAskForSampling: false };
    const parts = { name: "lab", open: this.#server.open, hide: String, limits, clock, faults };
    this.#conversation = new Conversation(
      {
        ...shared,
        calls: new GovernedCalls({ ...shared, name: "lab" }),
        methods: new GovernedMethods({ ...shared, name: "lab" }),
        openUpstream: (events) => new Upstream(parts, events),
      },
      { push: () => true },
    );
  }

  /** Has the tools listed, so that they need not be looked up before the first call. */
  async list(): Promise<void> {
    await this.#catalog.admit(undefined, [{ name: "free" }, { name: "hidden" }], undefined);
  }

  async run(one: Step): Promise<void> {
    const server = this.#server;
    switch (one.kind) {
      case "call":
        return this.#call(one.id, one.tool);
      case "cancel":
        for (const number of this.#open.get(one.id) ?? []) this.cancelled.add(number);
        return this.#say({ method: "notifications/cancelled", params: { requestId: one.id } });
      case "decide": {
        const [deciding] = this.#deciding.splice(one.which, 1);
        return deciding?.settle(one.how);
      }
      case "answer":
        return this.#answer(one.which, one.how);
      case "stray":
        return server.say({ jsonrpc: "2.0", id: one.id, result: {} });
      case "crash":
        return this.#crash();
      case "outOfOrder":
        server.isOutOfOrder = one.is;
        return undefined;
      case "wait":
        return this.clock.advanceAndSettle(one.ms);
      case "settle":
        return settled();
    }
  }

  /** Ends it all: the agent leaves, and whatever is still being decided is decided at last. */
  async finish(how: "allow" | "deny"): Promise<void> {
    for (const numbers of this.#open.values()) for (const number of numbers) this.cancelled.add(number);
    const ended = this.#conversation.end();
    await settled();
    for (const deciding of this.#deciding.splice(0)) deciding.settle(how);
    for (let turn = 0; turn < 5; turn += 1) await this.clock.advanceAndSettle(60_000);
    await ended;
  }

  /** Ends the server; no request may stay pending, however long the clock stands still. */
  async #crash(): Promise<void> {
    const performed = [...this.history.values()].filter((events) => events.includes("performed"));
    this.#server.crash();
    for (let turn = 0; turn < 3; turn += 1) await settled();
    for (const events of performed) expect(events).toContain("reported");
  }

  #say(message: Message): void {
    this.#conversation.receive({ jsonrpc: "2.0", ...message }, { send: () => {}, done: () => {} });
  }

  #call(callId: number, tool: string): void {
    this.#calls += 1;
    const number = this.#calls;
    this.history.set(number, []);
    this.#open.set(callId, [...(this.#open.get(callId) ?? []), number]);
    const message = {
      jsonrpc: "2.0",
      id: callId,
      method: "tools/call",
      params: { name: tool, arguments: { number } },
    };
    this.#conversation.receive(message, {
      send: () => {
        this.#note(number, "answered");
        this.#open.set(
          callId,
          (this.#open.get(callId) ?? []).filter((one) => one !== number),
        );
      },
      done: () => {},
    });
  }

  #answer(nth: number, how: string): void {
    const request = this.#server.unanswered[nth];
    if (!request) return;
    const isList = request.method === "tools/list";
    const result = isList ? { tools: [] } : { content: [], ...(how === "isError" && { isError: true }) };
    const body: Message = how === "error" ? { error: { code: 1, message: "no" } } : { result };
    this.#server.answer(request, body);
    if (how === "twice") this.#server.answer(request, body);
  }

  #gate(): McpGate {
    const numberIn = (call: McpCall) => Number(Object(call.arguments).number);
    return {
      mayUse: ({ name }) => name !== "hidden",
      decide: (call) => {
        this.#note(numberIn(call), "decided");
        const { promise, resolve, reject } = Promise.withResolvers<McpDecision>();
        const settle = (how: string) => {
          if (how === "throw") return reject(new Error("unknown"));
          if (how === "deny") return resolve({ allowed: false, reason: "no" });
          this.#note(numberIn(call), "allowed");
          const given = { number: numberIn(call), ...(how === "modify" && { tamed: true }) };
          return resolve({ allowed: true, arguments: given });
        };
        this.#deciding.push({ call, settle });
        return promise;
      },
      report: async (call) => {
        await settled();
        this.#note(numberIn(call), "reported");
      },
      refused: (call) => this.#note(numberIn(call), "refused"),
    };
  }

  #performed(message: Message): void {
    const given = objectIn(objectIn(message, "params"), "arguments");
    if (message.method === "tools/call") this.#note(Number(given?.number), "performed");
  }

  #note(number: number, event: Event): void {
    this.history.get(number)?.push(event);
  }
}

const count = (events: readonly Event[], event: Event) => events.filter((one) => one === event).length;

describe("whatever happens, in whatever order", () => {
  test("a call is decided at most once, performed only if allowed, and then reported exactly once", async () => {
    const fates = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 80, size: "max" }),
        fc.constantFrom("allow", "deny"),
        fc.boolean(),
        async (steps, end, isListed) => {
          const world = new World();
          if (isListed) await world.list();
          for (const one of steps) await world.run(one);
          await world.finish(end);
          expect(world.clock.waiting).toBe(0);
          for (const [number, events] of world.history) {
            const wasCancelled = world.cancelled.has(number);
            fates.add(events.join(" "));
            expect(count(events, "decided") + count(events, "refused")).toBeLessThanOrEqual(1);
            if (!wasCancelled) expect(count(events, "decided") + count(events, "refused")).toBe(1);
            expect(count(events, "reported")).toBe(count(events, "allowed"));
            expect(count(events, "performed")).toBeLessThanOrEqual(count(events, "allowed"));
            expect(count(events, "answered")).toBeLessThanOrEqual(1);
            if (!wasCancelled) expect(count(events, "answered")).toBe(1);
            const order: Event[] = ["decided", "allowed", "performed", "reported", "answered"];
            const places = order.map((event) => events.indexOf(event)).filter((place) => place >= 0);
            expect(places).toEqual(places.toSorted((left, right) => left - right));
          }
        },
      ),
      { numRuns: 1_000 },
    );
    expect([...fates]).toEqual(
      expect.arrayContaining([
        "",
        "refused answered",
        "decided answered",
        "decided allowed reported",
        "decided allowed reported answered",
        "decided allowed performed reported",
        "decided allowed performed reported answered",
      ]),
    );
  });
});
