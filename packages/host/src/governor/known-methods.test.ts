import { expect, test } from "vitest";
import { THIRD_PARTY } from "../control/scope.ts";
import { clientOffers, mayKnow } from "./known-methods.ts";

const INITIALIZED = {
  _meta: { acme: {} },
  agentCapabilities: { sessionCapabilities: { fork: {} }, _meta: {} },
};

test("a method is known by what the agent said of itself", () => {
  for (const method of ["_acme/dance", "session/fork", "session/set_model"])
    expect(mayKnow(method, THIRD_PARTY, INITIALIZED)).toBe(true);
  for (const method of ["_other/dance", "session/rewind", "providers/list"])
    expect(mayKnow(method, THIRD_PARTY, INITIALIZED)).toBe(false);
});

test.each(Object.getOwnPropertyNames(Object.prototype))(
  "what every object has makes no method: %s",
  (name) => {
    for (const method of [`_${name}/x`, `session/${name}`, `session/un${name}`, `${name}/x`])
      expect(mayKnow(method, THIRD_PARTY, INITIALIZED)).toBe(false);
    for (const method of [name, `_${name}/x`]) expect(clientOffers({ fs: {} }, method, {})).toBe(false);
    expect(clientOffers({ elicitation: {} }, "elicitation/create", { mode: name })).toBe(false);
  },
);

test("a host offers the methods of the bridge that it lists, or all of them", () => {
  const offers = (bridge: unknown, method = "host/tools/list") =>
    clientOffers({ _meta: { reins: { bridge } } }, method, {});
  expect([offers(true), offers({}), offers({ methods: ["host/tools/list"] })]).toEqual([true, true, true]);
  expect([offers(false), offers(null), offers({ methods: ["skills/list"] })]).toEqual([false, false, false]);
  expect(offers(true, "tool/pre_use")).toBe(false);
  expect(clientOffers({ _meta: { harn: {} } }, "builtin_call", {})).toBe(true);
  expect(clientOffers({}, "builtin_call", {})).toBe(false);
});
