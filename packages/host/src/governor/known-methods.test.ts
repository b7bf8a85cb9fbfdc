import { expect, test } from "vitest";
import { clientOffers, mayKnow } from "./known-methods.ts";

const INITIALIZED = {
  _meta: { acme: {} },
  agentCapabilities: { sessionCapabilities: { fork: {} }, _meta: {} },
};

test("a method is known by what the agent said of itself", () => {
  for (const method of ["_acme/dance", "session/fork", "session/set_model"])
    expect(mayKnow(method, false, INITIALIZED)).toBe(true);
  for (const method of ["_other/dance", "session/rewind", "providers/list"])
    expect(mayKnow(method, false, INITIALIZED)).toBe(false);
});

test.each(Object.getOwnPropertyNames(Object.prototype))(
  "what every object has makes no method: %s",
  (name) => {
    for (const method of [`_${name}/x`, `session/${name}`, `session/un${name}`, `${name}/x`])
      expect(mayKnow(method, false, INITIALIZED)).toBe(false);
    for (const method of [name, `_${name}/x`]) expect(clientOffers({ fs: {} }, method, {})).toBe(false);
    expect(clientOffers({ elicitation: {} }, "elicitation/create", { mode: name })).toBe(false);
  },
);
