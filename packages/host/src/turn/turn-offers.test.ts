import { describe, expect, test } from "vitest";
import { type TurnOffer, TurnOffers } from "./turn-offers.ts";

const tool = (name: string) => ({ name, description: "", input_schema: {} });
const offerOf = (...names: string[]): TurnOffer => ({
  tools: names.map(tool),
  call: async (name) => ({ text: `ran ${name}`, isError: false }),
});
const gates = (entries: Record<string, boolean>) => new Map(Object.entries(entries));
const { signal } = new AbortController();

describe("the tools of a turn", () => {
  test("are announced by its name until that is withdrawn", () => {
    const offers = new TurnOffers();
    const offer = offerOf("deploy");
    const withdraw = offers.announce("turn-1", offer);
    expect(offers.offerOf("turn-1")).toBe(offer);
    expect([offers.offerOf("turn-2"), offers.offerOf(1)]).toEqual([undefined, undefined]);
    withdraw();
    expect(offers.offerOf("turn-1")).toBeUndefined();
  });

  test("may be used as they were decided, and not at all where a client offers others", () => {
    const offers = new TurnOffers();
    expect(offers.mayUse("s", "deploy")).toBeUndefined();
    offers.settle("s", gates({ deploy: true, delete: false }), undefined);
    expect(["deploy", "delete", "other"].map((name) => offers.mayUse("s", name))).toEqual([
      true,
      false,
      undefined,
    ]);
    offers.settle("s", gates({ deploy: true }), offerOf("deploy"));
    expect(offers.mayUse("s", "other")).toBe(false);
  });

  test("of a client are those that are allowed and not the agent's own", () => {
    const offers = new TurnOffers();
    offers.declare("native", [{ name: "read_file", description: "" }]);
    offers.settle(
      "s",
      gates({ deploy: true, drop: false, read_file: true }),
      offerOf("deploy", "drop", "read_file"),
    );
    expect(offers.clientTools("s", "native").map(({ name }) => name)).toEqual(["deploy"]);
    expect(offers.clientTools("unknown", "native")).toEqual([]);
    expect(offers.own("unknown")).toEqual([]);
  });

  test("are run by the client of the session, where it is there", async () => {
    const offers = new TurnOffers();
    offers.settle("s", gates({ deploy: true }), offerOf("deploy"));
    expect(await offers.call("s", "deploy", {}, signal)).toEqual({ text: "ran deploy", isError: false });
    offers.forget("s");
    expect(await offers.call("s", "deploy", {}, signal)).toMatchObject({ isError: true });
  });

  test("are forgotten for the sessions that had no turn for longest", () => {
    const offers = new TurnOffers();
    for (let index = 0; index <= 10_000; index += 1)
      offers.settle(String(index), gates({ x: true }), undefined);
    expect([offers.mayUse("0", "x"), offers.mayUse("1", "x")]).toEqual([undefined, true]);
  });
});
